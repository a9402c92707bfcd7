#if TLS
  import DocStore
  import Links
  import Transports

  /// The revocation lists that a database holds.
  public struct DunlinRevocationStatus: Sendable {
    /// One authority's list.
    public struct List: Hashable, Sendable {
      /// The first eight bytes of the hash of the authority's public key, in hexadecimal digits.
      public let issuer: String
      /// Whether an intermediate authority has issued it.
      public let isIntermediate: Bool
      /// The number of the list, which rises with each later one.
      public let number: UInt64
      /// The number of entries.
      public let entryCount: Int
    }

    /// A list that this peer does not use.
    public struct Refusal: Sendable {
      /// As in ``List/issuer``.
      public let issuer: String
      /// The number of the list.
      public let number: UInt64
      /// Why it is refused: `identity`, `limit` or `malformed`.
      public let error: DunlinError
    }

    /// Whether no peer has confirmed the lists for too long, so that sync is held.
    ///
    /// It is always `false` unless ``DunlinConfiguration/revocationsNeededWithin`` is set.
    public let isOutdated: Bool
    /// The lists, by their issuers.
    public let lists: [List]
    /// The last list of each authority that was refused since the database was opened.
    ///
    /// An earlier list of the same authority stays in effect.
    public let refusals: [Refusal]
  }

  extension DunlinRevocationStatus {
    init(_ status: RevocationStatus, isOutdated: Bool) {
      self.isOutdated = isOutdated
      lists = status.lists.map {
        List(
          issuer: "\($0.issuer)", isIntermediate: !$0.isByRoot, number: $0.number, entryCount: $0.count)
      }
      refusals = status.refused.map {
        Refusal(issuer: "\($0.issuer)", number: $0.number, error: DunlinError(any: $0.error))
      }
    }
  }

  extension Dunlin {
    /// Adds a revocation list: those that it names are refused at once, and their sessions end.
    ///
    /// The list spreads to all peers that this one syncs with, and from there on. It is stored, also in
    /// backups. Lists of several authorities add up, and none takes back what another one says.
    ///
    /// - Parameter list: The list, made by ``DunlinAuthority/revoke(_:extending:)`` or `dunlin ca revoke`.
    /// - Returns: Whether something in it was new.
    /// - Throws: `malformed` for what is no list; `identity` for a list that neither the application's
    ///   authority nor one below it has signed, and while this peer has no certificate; `limit` for too many
    ///   entries; `argument` for a database with the development identity. Then nothing has changed.
    ///   `closed`, `readOnlyStore`; `full` or `io` if the list is in effect but not stored.
    @discardableResult
    public func addRevocations(_ list: [UInt8]) async throws -> Bool {
      guard core.state.isOpen else { throw DunlinError(.closed, "the database is closed") }
      guard !core.local.store.isReadOnly else { throw DunlinError.readOnlyStore("revocations are for sync") }
      guard let keeper = core.sync.identity?.revocations else {
        throw DunlinError(.argument, "with the development identity nothing can be revoked")
      }
      do {
        return try await keeper.add(RevocationList(file: list))
      } catch {
        throw DunlinError.translating(error)
      }
    }

    /// The revocation lists that this database holds.
    public var revocations: DunlinRevocationStatus {
      DunlinRevocationStatus(
        core.sync.network.revocations.status, isOutdated: core.sync.network.isHeld)
    }
  }
#endif
