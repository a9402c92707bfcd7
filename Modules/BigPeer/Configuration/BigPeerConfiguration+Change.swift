#if Server
  extension BigPeerConfiguration {
    /// A setting that only a start reads.
    private struct FixedSetting: Sendable {
      let path: String
      /// Takes the former value; returns whether the values differed.
      let keep: @Sendable (inout BigPeerConfiguration, BigPeerConfiguration) -> Bool

      init<Setting: Equatable & Sendable>(
        _ path: String, _ setting: any WritableKeyPath<BigPeerConfiguration, Setting> & Sendable
      ) {
        self.path = path
        keep = { next, former in
          defer { next[keyPath: setting] = former[keyPath: setting] }
          return next[keyPath: setting] != former[keyPath: setting]
        }
      }
    }

    private static let fixedSettings = [
      FixedSetting("http.listen", \.http.listen), FixedSetting("http.origins", \.http.origins),
      FixedSetting("http.proxies", \.http.proxies), FixedSetting("http.proxyHeader", \.http.proxyHeader),
      FixedSetting("http.limits.headers", \.http.limits.headerBytes),
      FixedSetting("http.limits.headerCount", \.http.limits.headerCount),
      FixedSetting("http.limits.idleTime", \.http.limits.idleTime),
      FixedSetting("admin.listen", \.admin.listen),
      FixedSetting("admin.controlSocket", \.admin.hasControlSocket),
      FixedSetting("monitor.listen", \.monitor.listen), FixedSetting("logLevel", \.logLevel),
      FixedSetting("logFormat", \.logFormat),
      FixedSetting("stopTime", \.stopTime),
    ]

    /// Takes the settings that only a start reads from the configuration in use.
    ///
    /// - Parameter former: The configuration in use.
    /// - Returns: The paths of those that differed.
    mutating func keepFixedSettings(of former: BigPeerConfiguration) -> [String] {
      var changed = Self.fixedSettings.filter { $0.keep(&self, former) }.map(\.path)
      // Other files are read again; whether there is TLS at all is decided when the listener begins.
      if (http.tls == nil) != (former.http.tls == nil) {
        changed.append("http.tls")
        http.tls = former.http.tls
      }
      return changed
    }
  }

  extension BigPeerConfiguration.Application {
    /// Whether the application can take other settings while it stays open.
    ///
    /// It can take other files of a certificate, another webhook, address and authority of its logins, and
    /// other lifetimes of deletions. For anything else it is closed and opened again.
    func canBecome(_ next: BigPeerConfiguration.Application) -> Bool {
      var changed = self
      switch (identity, next.identity) {
      case (.certificate, .certificate): changed.identity = next.identity
      default: break
      }
      if let login, let other = next.login, login.limits == other.limits { changed.login = other }
      changed.limits.tombstoneLifetime = next.limits.tombstoneLifetime
      changed.limits.certificateLifetime = next.limits.certificateLifetime
      return changed == next
    }
  }
#endif
