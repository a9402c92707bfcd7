#if TLS
  import CRDTCore
  import DocStore
  import Links
  import Synchronization
  import Transports

  /// Keeps the revocation lists of a database in its store, and so in its backups.
  final class RevocationKeeper: Sendable {
    /// The lists: `Documentation/FileFormat.md` has the keys.
    static let table = SideTable("revocations")

    private enum Part {
      static let head: UInt8 = 0
      static let segment: UInt8 = 1
      static let kept: UInt8 = 2
    }

    private static let issuerBytes = 32

    private let store: Store
    private let network: PeerNetwork
    private let reporter: Reporter
    /// The stored lists that are damaged, by their issuers' bytes.
    private let damaged = Mutex<[[UInt8]: DunlinError]>([:])
    /// Holds sync while no peer confirms the lists, where the configuration asks for that.
    let freshness: RevocationFreshness?

    init(store: Store, network: PeerNetwork, reporter: Reporter, neededWithin limit: Duration?) {
      (self.store, self.network, self.reporter) = (store, network, reporter)
      freshness = limit.map {
        RevocationFreshness(limit: $0, store: store, network: network, reporter: reporter)
      }
    }

    // MARK: - Reading

    /// Gives the network the stored lists, and stores all that change from now on.
    ///
    /// A damaged list prevents sync, since it could admit who is revoked, but not access to the own data.
    func begin() throws {
      let stored = try read()
      network.revocations.load(stored)
      network.onRevocations { [weak self] change in self?.changed(change) }
      try freshness?.begin()
    }

    private func read() throws -> [HeldRevocations] {
      var parts: [[UInt8]: [(key: [UInt8], value: [UInt8])]] = [:]
      try store.read { snapshot in
        try snapshot.forEachSideEntry(
          Self.table,
          damaged: { key in
            guard key.count > Self.issuerBytes else { return }
            self.note(damageOf: Array(key.prefix(Self.issuerBytes)), "an entry cannot be read")
          }
        ) { key, value in
          guard key.count > Self.issuerBytes else { return true }
          parts[Array(key.prefix(Self.issuerBytes)), default: []].append((key, value))
          return true
        }
      }
      return parts.compactMap { issuer, parts in
        do throws(CodecError) {
          return try Self.list(parts)
        } catch {
          note(damageOf: issuer, error.message)
          return nil
        }
      }
    }

    /// Combines the entries of one issuer, which come in the order of their keys.
    private static func list(_ parts: [(key: [UInt8], value: [UInt8])]) throws(CodecError) -> HeldRevocations
    {
      var head: RevocationHead?
      var (segments, kept): ([RevocationSegment], [RevocationSegment]) = ([], [])
      for (key, value) in parts {
        switch key[issuerBytes] {
        case Part.head: head = try RevocationHead(bytes: value)
        case Part.segment: segments.append(try RevocationSegment(bytes: value))
        case Part.kept: kept.append(try RevocationSegment(bytes: value))
        default: break
        }
      }
      guard let head else { throw CodecError(.malformed, "the head is missing") }
      return HeldRevocations(
        list: try RevocationList(head: head, segments: segments), kept: kept.flatMap(\.entries))
    }

    private func note(damageOf issuer: [UInt8], _ why: String) {
      let name = AuthorityHash(bytes: issuer).map { "\($0)" } ?? "an unknown authority"
      let error = DunlinError(
        .corrupt,
        "the stored revocation list of the authority \(name) is damaged (\(why)): add the list again, or restore the database from a backup"
      )
      let isNews = damaged.withLock { $0.updateValue(error, forKey: issuer) == nil }
      if isNews { reporter.fail("reading the revocation lists", error) }
    }

    /// - Throws: `corrupt` while a stored list is damaged.
    func check() throws(DunlinError) {
      if let error = damaged.withLock({ $0.values.first }) { throw error }
    }

    // MARK: - Writing

    private func changed(_ change: RevocationLists.Change) {
      if change.isConfirmed { freshness?.confirmed() }
      guard !change.changed.isEmpty else { return }
      let issuers = change.changed.map(\.issuer)
      store.enqueue { [self] transaction in
        try write(issuers, transaction)
      } completion: { [reporter] result in
        if case .failure(let error) = result { reporter.fail("storing a revocation list", error) }
      }
    }

    /// Adds a list, which is stored when this returns.
    ///
    /// - Returns: Whether something of it was new.
    func add(_ list: RevocationList) async throws -> Bool {
      let change = try network.addRevocations(list)
      let issuer = list.head.issuer
      if !change.changed.isEmpty { freshness?.confirmed() }
      // Also stored again if it is not new: a former attempt may have failed.
      _ = try await store.write { [self] transaction in try write([issuer], transaction) }
      _ = damaged.withLock { $0.removeValue(forKey: issuer.bytes) }
      return !change.changed.isEmpty
    }

    /// Writes what the network holds now, which may be newer than what a change has said.
    private func write(_ issuers: [AuthorityHash], _ transaction: WriteTransaction) throws {
      for issuer in issuers {
        guard let held = network.revocations.held(issuer) else { continue }
        let kept = stride(from: 0, to: held.kept.count, by: RevocationSegment.entryLimit).map {
          Array(held.kept[$0..<min($0 + RevocationSegment.entryLimit, held.kept.count)])
        }
        try set([held.list.head.bytes], issuer, Part.head, transaction)
        try set(held.list.segments.map(\.bytes), issuer, Part.segment, transaction)
        try set(kept.map { RevocationSegment($0).bytes }, issuer, Part.kept, transaction)
      }
    }

    private func set(
      _ values: [[UInt8]], _ issuer: AuthorityHash, _ part: UInt8, _ transaction: WriteTransaction
    ) throws {
      func key(_ index: Int) -> [UInt8] {
        issuer.bytes + [part, UInt8(index >> 8 & 255), UInt8(index & 255)]
      }
      for (index, value) in values.enumerated() {
        let stored = try transaction.sideValue(Self.table, key: key(index), ignoringDamage: true)
        if stored != value { try transaction.setSideValue(value, Self.table, key: key(index)) }
      }
      try transaction.removeSideEntries(Self.table, from: key(values.count), through: key(0xFFFF))
    }
  }
#endif
