#if Server
  import CRDTCore
  import Transports

  /// The rules of settings that belong together, whatever said them: the file, the environment, flags or code.
  extension BigPeerConfiguration {
    /// Sees to it that all settings go together.
    ///
    /// - Throws: The first mistake, with the place where the setting was said.
    func check() throws(ConfigurationError) {
      guard !applications.isEmpty else {
        throw ConfigurationError("applications", "must name at least one application")
      }
      var (ids, folders): (Set<String>, Set<String>) = ([], [])
      for application in applications {
        guard ids.insert(application.id).inserted else {
          throw application.fault("id", "another application has the id \(application.id)")
        }
        guard folders.insert(application.folder).inserted else {
          throw application.fault("folder", "another application has the directory \(application.folder)")
        }
        try application.check()
      }
      if let listen = http.listen, !listen.isLoopback, http.tls == nil {
        throw http.places.fault(
          "listen", of: "http",
          "without a certificate (tls) it listens on loopback only, such as 127.0.0.1:8080, and not on \(listen)"
        )
      }
      if let listen = admin.listen, !listen.isLoopback {
        throw admin.places.fault(
          "listen", of: "admin", "must be loopback, such as 127.0.0.1:8081, and not \(listen)")
      }
      try checkLogins()
      try checkAddresses()
    }

    /// Sees to it that each login endpoint has a path of its own at the HTTP listener.
    private func checkLogins() throws(ConfigurationError) {
      var users: [String: String] = [:]
      for application in applications {
        guard let login = application.login, let path = try? HTTPSAddress(login.url).path else { continue }
        let name = "the login endpoint of \(application.id)"
        guard http.listen != nil else {
          throw ConfigurationError(name, "needs the HTTP listener, which is off")
        }
        guard !path.hasPrefix("/api"), !path.isEmpty else {
          throw ConfigurationError(name, "needs a path that is not empty and does not begin with /api")
        }
        if let other = users.updateValue(name, forKey: path) {
          throw ConfigurationError(name, "\(path) is the path of \(other) too")
        }
      }
    }

    /// Sees to it that no address is used twice.
    private func checkAddresses() throws(ConfigurationError) {
      var users: [ListenAddress: String] = [:]
      func claim(_ address: ListenAddress, for user: String) throws(ConfigurationError) {
        guard address.port != 0 else { return }
        if let other = users.updateValue(user, forKey: address) {
          throw ConfigurationError(user, "\(address) is the address of \(other) too")
        }
      }
      for application in applications {
        let devices = "the devices of \(application.id)"
        for address in application.devices { try claim(address, for: devices) }
        for address in application.webSockets { try claim(address, for: "\(devices) by WebSocket") }
      }
      if let address = http.listen { try claim(address, for: "http") }
      if let address = admin.listen { try claim(address, for: "admin") }
    }
  }

  extension BigPeerConfiguration.Application {
    fileprivate func fault(_ setting: String, _ message: String) -> ConfigurationError {
      places.fault(setting, of: "the application \(id)", message)
    }

    fileprivate func check() throws(ConfigurationError) {
      if let fault = identity.fault(withLogins: login != nil) { throw self.fault("identity", fault) }
      if identity == .development {
        for (setting, addresses) in [("devices", devices), ("webSocket", webSockets)] {
          guard let open = addresses.first(where: { !$0.isLoopback }) else { continue }
          throw fault(
            setting,
            "without an identity nothing is encrypted, so devices connect on loopback only, and not to \(open)"
          )
        }
      }
      guard subscriptions.count <= Limits.subscriptionsPerPeer else {
        throw fault("subscribe", "names more than \(Limits.subscriptionsPerPeer) collections and queries")
      }
    }
  }

  extension BigPeerConfiguration.Identity {
    /// What is wrong with it in an application with or without logins.
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
