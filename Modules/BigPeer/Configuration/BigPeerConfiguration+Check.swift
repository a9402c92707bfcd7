#if Server
  import CRDTCore
  import Links

  /// The rules for combinations of settings.
  ///
  /// They hold wherever a setting comes from: the file, the environment, flags or code.
  extension BigPeerConfiguration {
    /// Checks that all settings go together.
    ///
    /// - Throws: The first mistake, with the place of the setting.
    func check() throws(ConfigurationError) {
      guard !applications.isEmpty else {
        throw places.fault("applications", "must name at least one application")
      }
      var (ids, folders): (Set<String>, Set<String>) = ([], [])
      for (index, application) in applications.enumerated() {
        let path = Self.path(index)
        guard ids.insert(application.id).inserted else {
          throw places.fault("\(path).id", "another application has the id \(application.id)")
        }
        guard folders.insert(application.folder).inserted else {
          throw places.fault("\(path).folder", "another application has the directory \(application.folder)")
        }
        try check(application, path)
      }
      if let listen = http.listen, !listen.isLoopback, http.tls == nil {
        throw places.fault(
          "http.listen",
          "without a certificate (tls) it listens on loopback only, such as 127.0.0.1:8080, and not on \(listen)"
        )
      }
      if let listen = admin.listen, !listen.isLoopback {
        throw places.fault("admin.listen", "must be loopback, such as 127.0.0.1:8081, and not \(listen)")
      }
      try checkLogins()
      try checkAddresses()
    }

    /// The path of an application's settings.
    static func path(_ index: Int) -> String { "applications[\(index)]" }

    private func check(_ application: Application, _ path: String) throws(ConfigurationError) {
      if let fault = application.identity.fault(withLogins: application.login != nil) {
        throw places.fault("\(path).identity", fault)
      }
      if application.identity == .development {
        for (setting, addresses) in [
          ("listen", application.devices), ("webSocket", application.webSockets),
        ] {
          guard let open = addresses.firstIndex(where: { !$0.isLoopback }) else { continue }
          throw places.fault(
            "\(path).devices.\(setting)[\(open)]",
            "without an identity nothing is encrypted, so devices connect on loopback only, and not to \(addresses[open])"
          )
        }
      }
      guard application.subscriptions.count <= Limits.subscriptionsPerPeer else {
        throw places.fault(
          "\(path).subscribe", "names more than \(Limits.subscriptionsPerPeer) collections and queries")
      }
    }

    /// Checks that each login endpoint has a path of its own at the HTTP listener.
    private func checkLogins() throws(ConfigurationError) {
      var users: [String: String] = [:]
      for (index, application) in applications.enumerated() {
        guard let login = application.login else { continue }
        let setting = "\(Self.path(index)).login.url"
        let path: String
        do throws(LoginError) {
          path = try HTTPSAddress(login.url).path
        } catch {
          throw places.fault(setting, error.message)
        }
        guard http.listen != nil else {
          throw places.fault("\(Self.path(index)).login", "needs the HTTP listener, which is off")
        }
        guard !path.hasPrefix("/api"), !path.isEmpty else {
          throw places.fault(setting, "needs a path that is not empty and does not begin with /api")
        }
        if let other = users.updateValue(application.id, forKey: path) {
          throw places.fault(setting, "\(path) is the path of the login endpoint of \(other) too")
        }
      }
    }

    /// Checks that no address is used twice.
    private func checkAddresses() throws(ConfigurationError) {
      var claims: [(address: ListenAddress, setting: String)] = []
      for (index, application) in applications.enumerated() {
        for (name, addresses) in [
          ("listen", application.devices), ("webSocket", application.webSockets),
        ] {
          claims += zip(0..., addresses).map { ($1, "\(Self.path(index)).devices.\(name)[\($0)]") }
        }
      }
      if let address = http.listen { claims.append((address, "http.listen")) }
      if let address = admin.listen { claims.append((address, "admin.listen")) }
      // Of two addresses in conflict, an explicit setting is reported, not a default.
      claims = claims.filter { !places.isSaid($0.setting) } + claims.filter { places.isSaid($0.setting) }
      for (index, claim) in claims.enumerated() {
        guard let other = claims[..<index].first(where: { $0.address.conflicts(with: claim.address) }) else {
          continue
        }
        throw places.fault(
          claim.setting, "\(claim.address) is in use by \(other.setting), which is \(other.address)")
      }
    }
  }

  extension ListenAddress {
    /// Whether the server can listen on only one of two addresses.
    ///
    /// An address of all networks includes every address of its kind.
    fileprivate func conflicts(with other: ListenAddress) -> Bool {
      guard port == other.port, port != 0 else { return false }
      return [("0.0.0.0", "."), ("::", ":")].contains { all, mark in
        (host == all && other.host.contains(mark)) || (other.host == all && host.contains(mark))
      } || host == other.host
    }
  }

  extension BigPeerConfiguration.Identity {
    /// What is wrong with the identity in an application with or without logins.
    fileprivate func fault(withLogins hasLogins: Bool) -> String? {
      switch self {
      case .certificate: nil
      case .intermediate:
        hasLogins ? nil : "kind intermediate needs \"login\", which has the intermediate authority"
      case .sharedKey, .development:
        hasLogins
          ? "devices that log in have certificates, so this peer needs one too: kind intermediate or certificate"
          : nil
      }
    }
  }
#endif
