#if Server
  extension BigPeerConfiguration.Application {
    /// Whether the application can take other settings while it stays open.
    ///
    /// It can take other files of a certificate, and another webhook, address and authority of its logins.
    /// For anything else it is closed and opened again.
    func canBecome(_ next: BigPeerConfiguration.Application) -> Bool {
      var changed = self
      switch (identity, next.identity) {
      case (.certificate, .certificate): changed.identity = next.identity
      default: break
      }
      if let login, let other = next.login, login.limits == other.limits { changed.login = other }
      return changed == next
    }
  }
#endif
