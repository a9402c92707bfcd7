#if TLS
  import CRDTCore
  import DocStore
  import Foundation
  import Links
  import Logging
  import QueryLanguage
  import ScopePolicy
  import Synchronization
  import SyncProtocol

  /// Makes this peer obey the grant of its own certificate: it evicts what it may not read.
  ///
  /// Other peers send nothing of it any more, and this peer does not wait to be told. It evicts only what
  /// another peer is known to have brought: the log must say that a peer made the last change, and this site
  /// must not be among the writers, nor a site as which this store wrote before. So nothing goes that only
  /// this store may have. What the log has forgotten stays, too. A later grant that allows more brings
  /// evicted documents back.
  final class OwnGrant: Sendable {
    /// How many documents one transaction looks at.
    private static let batch = 1_000

    private let store: Store
    private let subscriptions: SubscriptionRegistry
    private let reporter: Reporter
    /// What the latest grant lets this peer read, and the work for it.
    private let work = Mutex<(access: PeerAccess?, task: Task<Void, Never>?)>((nil, nil))
    private let known = Mutex(Known())

    /// The grant of the latest credentials, and what was logged about it.
    private struct Known {
      var access = PeerAccess.everything
      var facts: (name: String, sha256: String, validUntil: Date)?
      /// The subscriptions that the grant does not cover, as they were logged.
      var logged: Set<DunlinGrantStatus.Subscription> = []
    }

    init(store: Store, subscriptions: SubscriptionRegistry, reporter: Reporter) {
      (self.store, self.subscriptions, self.reporter) = (store, subscriptions, reporter)
      subscriptions.onRegister { [weak self] in self?.note([$0]) }
    }

    // MARK: - What is shown

    /// The grant, and the subscriptions that it does not cover; `nil` without a grant.
    var status: DunlinGrantStatus? {
      let queries = subscriptions.queries
      return known.withLock { known in
        known.facts.map { facts in
          DunlinGrantStatus(
            rulesName: facts.name, sha256: facts.sha256, validUntil: facts.validUntil,
            uncovered: known.access.uncovered(queries))
        }
      }
    }

    /// How much of a collection the grant lets this peer read; `nil` for all.
    func reading(of collection: String) -> DunlinGrantedReading? {
      known.withLock { $0.access.limit(of: collection) }
    }

    /// Forgets the grant after a logout; what this peer has stays.
    func forget() { known.withLock { $0 = Known() } }

    /// Logs each subscription that the grant does not cover, once.
    private func note(_ queries: [SubscriptionQuery]) {
      let new = known.withLock { known in
        if known.logged.count > Self.batch { known.logged = [] }
        return known.access.uncovered(queries).filter { known.logged.insert($0).inserted }
      }
      for subscription in new {
        let some = subscription.reading == .nothing ? "nothing" : "only some documents"
        reporter.logger.notice(
          """
          This device's grant lets it read \(some) of the collection of the subscription \
          '\(subscription.query)'
          """)
      }
    }

    private func know(_ credentials: PeerCredentials, _ access: PeerAccess, rules name: String) {
      let end = Date(timeIntervalSince1970: Double(credentials.validUntil) / 1_000)
      let facts = credentials.grant.map { (name: name, sha256: "\($0.hash)", validUntil: end) }
      known.withLock { known in
        if known.access.reading != access.reading { known.logged = [] }
        (known.access, known.facts) = (access, facts)
      }
      note(subscriptions.queries)
    }

    // MARK: - Evicting

    /// Obeys the grant of new credentials, in the background, and no longer an earlier one.
    func obey(_ credentials: PeerCredentials) {
      let (access, rules): (PeerAccess, String)
      do {
        (access, rules) = (try credentials.access, try credentials.rulesName)
      } catch {
        // Other peers refuse such a grant, too.
        return reporter.fail("reading this device's own grant", error)
      }
      know(credentials, access, rules: rules)
      work.withLock { work in
        // A renewed certificate has the same grant.
        guard work.access?.reading != access.reading else { return }
        work.task?.cancel()
        let task = access.reading == .everything ? nil : Task { await self.evict(allBut: access) }
        work = (access, task)
      }
    }

    /// Ends the work, and waits for nothing: what it has not evicted is evicted at the next start.
    func close() {
      work.withLock { work in
        work.task?.cancel()
        work = (nil, nil)
      }
    }

    private func evict(allBut access: PeerAccess) async {
      do {
        let names = try store.read { snapshot in try snapshot.collections().map(\.name) }
        let brought = try store.read { snapshot in try snapshot.changesOfPeers() }
        try await forgetWithdrawals()
        var evicted = 0
        for name in names where CollectionName.maySync(name) && !access.readsAll(of: name) {
          var start: [UInt8]? = []
          while let from = start, !Task.isCancelled {
            let (hidden, next) = try hidden(in: name, from: from, access, outOf: brought)
            evicted += try await evict(hidden, from: name)
            start = next
          }
        }
        guard evicted > 0 else { return }
        reporter.logger.notice("Evicted \(evicted) documents that this device's grant does not let it read")
      } catch {
        if !Task.isCancelled { reporter.fail("evicting what this device may not read", error) }
      }
    }

    /// Takes what other peers have withdrawn under an earlier grant, as far as they send it now.
    private func forgetWithdrawals() async throws {
      guard try store.read({ try $0.hasLeavingNotes() }) else { return }
      _ = try await store.write { try $0.forgetWithdrawals() }
    }

    /// Returns the documents to evict in a part of a collection, and where the next part begins.
    private func hidden(
      in name: String, from start: [UInt8], _ access: PeerAccess, outOf brought: Set<DocumentNumber>
    ) throws -> (ids: [DocumentID], next: [UInt8]?) {
      try store.read { snapshot in
        var (ids, next): ([DocumentID], [UInt8]?) = ([], nil)
        guard let collection = try snapshot.collection(name) else { return (ids, next) }
        let (sites, own) = (snapshot.sites, OwnSites(store.site, try snapshot.formerSites()))
        var rule = access.partialRule(of: name)
        rule?.resolve(collection.keys)
        let mayReadAny = access.mayRead(name)
        var left = Self.batch
        try snapshot.forEachIntactRecord(in: collection, from: start, damaged: { _ in }) {
          number, id, _, record in
          guard left > 0 else {
            next = unsafe id.withUnsafeBytes { unsafe Array($0) }
            return false
          }
          left -= 1
          let isReadable = mayReadAny && rule?.allows(id, record) ?? true
          if !isReadable, brought.contains(number), try !own.haveWritten(record, sites) {
            ids.append(try DocumentID(validating: id))
          }
          return true
        }
        return (ids, next)
      }
    }

    /// Evicts documents, except those that were written here meanwhile.
    private func evict(_ ids: [DocumentID], from name: String) async throws -> Int {
      guard !ids.isEmpty else { return 0 }
      return try await store.write { [store] write in
        guard let collection = try write.collection(name) else { return 0 }
        let (sites, own) = (write.sites, OwnSites(store.site, try write.formerSites()))
        var evicted = 0
        for id in ids {
          let isOwn = try write.withRecord(collection, id) { record, _ in try own.haveWritten(record, sites) }
          if isOwn == false, try write.evict(id, in: name) { evicted += 1 }
        }
        return evicted
      }.0
    }
  }

  /// The site as which a store writes, and those as which it wrote before.
  private struct OwnSites {
    let site: SiteID
    let former: [FormerSite]

    init(_ site: SiteID, _ former: [FormerSite]) { (self.site, self.former) = (site, former) }

    /// Whether one of the sites may have written to a document.
    func haveWritten(_ record: borrowing RecordView, _ sites: SiteTable) throws -> Bool {
      try record.vector(sites: sites).elements.contains { element in
        element.writer.site == site || former.contains { $0.mayBe(element.writer) }
      }
    }
  }

  extension ReadTransaction {
    /// The documents whose last change is in the log, and is that of a peer.
    fileprivate borrowing func changesOfPeers() throws -> Set<DocumentNumber> {
      var numbers: Set<DocumentNumber> = []
      try changes(after: logStart) { entry in
        guard entry.origin != .user else { return true }
        try entry.forEachMember { _, number in
          numbers.insert(number)
          return false
        } _: { _, _, _, _, _ in
          true
        }
        return true
      }
      return numbers
    }
  }

  extension PeerAccess {
    /// How much of a collection may be read; `nil` for all.
    fileprivate func limit(of collection: String) -> DunlinGrantedReading? {
      guard mayRead(collection) else { return .nothing }
      return partialRule(of: collection) == nil ? nil : .some
    }

    /// The subscriptions to collections that may not be read as a whole.
    fileprivate func uncovered(_ queries: [SubscriptionQuery]) -> [DunlinGrantStatus.Subscription] {
      queries.compactMap { query in
        limit(of: query.collection).map {
          DunlinGrantStatus.Subscription(query: query.statement, reading: $0)
        }
      }
    }

    /// Whether all documents of a collection may be read.
    fileprivate func readsAll(of collection: String) -> Bool {
      mayRead(collection) && partialRule(of: collection) == nil
    }
  }

  extension PeerCredentials {
    /// The name of the grant's rules; empty without a grant.
    fileprivate var rulesName: String {
      get throws(RulesError) {
        guard let grant else { return "" }
        return try Grant(canonical: grant.grant).rules.name
      }
    }

    /// What other peers let this one do.
    fileprivate var access: PeerAccess {
      get throws(RulesError) {
        guard let grant else { return .everything }
        return try PeerAccess(grant: grant.grant, rules: grant.rules, user: user)
      }
    }
  }
#endif
