#if Server
  import CRDTCore
  import Links

  /// The rules for combinations of settings.
  ///
  /// They hold wherever a setting comes from: the file, the environment, flags or code.
  extension BigPeerConfiguration {
    /// Checks that all settings go together.
    ///
    /// - Throws: All mistakes as one error, each with the place of the setting.
    func check() throws(ConfigurationError) {
      let mistakes = Mistakes()
      if applications.isEmpty {
        mistakes.add(places.fault("applications", "must name at least one application"))
      }
      var (ids, folders): (Set<String>, Set<String>) = ([], [])
      for (index, application) in applications.enumerated() {
        let path = Self.path(index)
        // Of an application that is named twice the other settings are the same too.
        guard ids.insert(application.id).inserted else {
          mistakes.add(places.fault("\(path).id", "another application has the id \(application.id)"))
          continue
        }
        if !folders.insert(application.folder).inserted {
          mistakes.add(
            places.fault("\(path).folder", "another application has the directory \(application.folder)"))
        }
        check(application, path, mistakes)
      }
      if let listen = http.listen, http.isBehindProxies, http.proxies.isEmpty {
        mistakes.add(
          places.fault(
            "http.listen",
            "without a certificate (tls), or proxies that alone may connect (proxies), it listens on loopback only, such as 127.0.0.1:8080, and not on \(listen)"
          ))
      }
      for proxy in http.proxies.sorted() where ProxyAddresses.canonical(proxy) == nil {
        mistakes.add(
          places.fault("http.proxies", "\(proxy) is no address: \(ListenAddress.proxyExpectation)"))
      }
      if let listen = admin.listen, !listen.isLoopback {
        mistakes.add(
          places.fault("admin.listen", "must be loopback, such as 127.0.0.1:8081, and not \(listen)"))
      }
      checkLogins(mistakes)
      checkAddresses(mistakes)
      try mistakes.check()
    }

    /// The path of an application's settings.
    static func path(_ index: Int) -> String { "applications[\(index)]" }

    private func check(_ application: Application, _ path: String, _ mistakes: Mistakes) {
      if let fault = application.identity.fault(withLogins: application.login != nil) {
        mistakes.add(places.fault("\(path).identity", fault))
      }
      if application.identity == .development {
        for (setting, addresses) in [
          ("listen", application.devices), ("webSocket", application.webSockets),
        ] {
          guard let open = addresses.firstIndex(where: { !$0.isLoopback }) else { continue }
          mistakes.add(
            places.fault(
              "\(path).devices.\(setting)[\(open)]",
              "without an identity nothing is encrypted, so devices connect on loopback only, and not to \(addresses[open])"
            ))
        }
      }
      for (setting, lifetime) in [
        ("tombstoneLifetime", application.limits.tombstoneLifetime),
        ("certificateLifetime", application.limits.certificateLifetime),
      ] {
        guard let lifetime, !DeletionLifetime.isValid(lifetime) else { continue }
        let isEndless = setting == "certificateLifetime"
        mistakes.add(
          places.fault(
            "\(path).limits.\(setting)", DeletionLifetime.expectation(isEndless: isEndless)))
      }
      if application.subscriptions.count > Limits.subscriptionsPerPeer {
        mistakes.add(
          places.fault(
            "\(path).subscribe", "names more than \(Limits.subscriptionsPerPeer) collections and queries"))
      }
    }

    /// Checks that each login endpoint has a path of its own at the HTTP listener.
    private func checkLogins(_ mistakes: Mistakes) {
      var users: [String: String] = [:]
      for (index, application) in applications.enumerated() {
        guard let login = application.login else { continue }
        mistakes.collect {
          try check(login, of: application.id, "\(Self.path(index)).login", &users)
        }
      }
    }

    private func check(
      _ login: Login, of application: String, _ setting: String, _ users: inout [String: String]
    ) throws(ConfigurationError) {
      let path: String
      do throws(LoginError) {
        path = try HTTPSAddress(login.url).path
      } catch {
        throw places.fault("\(setting).url", error.message)
      }
      guard http.listen != nil else { throw places.fault(setting, "needs the HTTP listener, which is off") }
      guard !path.hasPrefix("/api"), !path.isEmpty else {
        throw places.fault(
          "\(setting).url", "needs a path that is not empty and does not begin with /api")
      }
      if let other = users.updateValue(application, forKey: path) {
        throw places.fault(
          "\(setting).url", "\(path) is the path of the login endpoint of \(other) too")
      }
    }

    /// Checks that no address is used twice.
    private func checkAddresses(_ mistakes: Mistakes) {
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
      if let address = monitor.listen { claims.append((address, "monitor.listen")) }
      // Of two addresses in conflict, an explicit setting is reported, not a default.
      claims = claims.filter { !places.isSaid($0.setting) } + claims.filter { places.isSaid($0.setting) }
      for (index, claim) in claims.enumerated() {
        guard let other = claims[..<index].first(where: { $0.address.conflicts(with: claim.address) }) else {
          continue
        }
        mistakes.add(
          places.fault(
            claim.setting, "\(claim.address) is in use by \(other.setting), which is \(other.address)"))
      }
    }
  }

  extension BigPeerConfiguration.HTTP {
    /// Whether it listens beyond loopback without a certificate: then only proxies may connect.
    var isBehindProxies: Bool { listen.map { !$0.isLoopback && tls == nil } ?? false }
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
