#if Server
  package import Facade
  import Foundation
  package import Links
  import Synchronization
  import Transports

  /// Signs revoked device keys with the intermediate authority for logins, so that all peers learn of them.
  package final class SharedRevocations: Sendable {
    /// The database; `nil` once it is gone.
    private let dunlin: @Sendable () -> Dunlin?
    /// The authority that signs, which a reload replaces.
    private let issuer: @Sendable () -> LoginIssuer
    /// Held while a list is made, since each one begins with the former one.
    private let making = Mutex(())

    /// Signs for a database.
    ///
    /// - Parameters:
    ///   - dunlin: The database, which is not kept alive.
    ///   - issuer: Returns the authority for logins.
    package init(_ dunlin: Dunlin, issuer: @escaping @Sendable () -> LoginIssuer) {
      self.dunlin = { [weak dunlin] in dunlin }
      self.issuer = issuer
    }

    /// Adds keys to the list of the intermediate authority; those that a list has are left out.
    ///
    /// The list is in effect, and spreads, when this returns. It is stored soon after.
    ///
    /// - Parameter keys: The device keys.
    /// - Returns: The list, if there is a new one.
    /// - Throws: `limit` for too many entries; `credentials`.
    @discardableResult
    package func add(_ keys: Set<PeerKey>) throws(LinkError) -> RevocationList? {
      guard let network = dunlin()?.parts.network else { return nil }
      let issuer = issuer()
      let result: Result<RevocationList?, LinkError> = making.withLock { _ in
        do throws(LinkError) {
          let missing = keys.filter { !network.revocations.contains($0) }
          let held = network.revocations.held(issuer.hash)
          guard !missing.isEmpty || held?.kept.isEmpty == false else { return .success(nil) }
          let list = try issuer.revoke(missing, extending: held)
          try network.addRevocations(list)
          return .success(list)
        } catch {
          return .failure(error)
        }
      }
      return try result.get()
    }

    /// Signs again what a list of the intermediate authority has lost, whenever that becomes known.
    ///
    /// That is so after a backup was restored, or if the authority was also used elsewhere: devices bring a
    /// list that is newer and does not have all entries of this one.
    ///
    /// - Parameter failed: Called with the error if it cannot be signed.
    package func mend(failed: @escaping @Sendable (LinkError) -> Void) {
      dunlin()?.parts.network.onRevocations { [self] change in
        guard change.changed.contains(where: { $0.issuer == issuer().hash && !$0.kept.isEmpty }) else {
          return
        }
        Task {
          do throws(LinkError) {
            try add([])
          } catch {
            failed(error)
          }
        }
      }
    }

    /// The same as ``add(_:)``, and the list is stored when this returns.
    package func addDurably(_ keys: Set<PeerKey>) async throws {
      guard let list = try add(keys) else { return }
      try await dunlin()?.addRevocations(list.file)
    }
  }
#endif
