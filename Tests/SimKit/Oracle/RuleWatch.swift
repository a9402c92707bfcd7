#if DEBUG || SIMULATION
  import CRDTCore
  import Failpoints
  import SyncProtocol

  /// Checks the rules of sync that only both ends of a link together show.
  ///
  /// It checks one end as sender and as receiver. The rules are 3, 5, 6, 8 and the sending half of 1 of
  /// `Documentation/Sync.md`, section "What is always true".
  ///
  /// It uses what the session reports of itself, and what the stores of both ends hold.
  final class RuleWatch {
    private unowned let driver: SimDriver
    /// Notices that are queued and not sent, and how many transactions were queued before each.
    private var notices: [(type: FrameType, after: SessionFact.Count)] = []
    /// The notice that is being sent.
    private var leaving: (type: FrameType, after: SessionFact.Count)?
    /// Segments of a transaction of which the last one is not queued.
    private var segments: [SessionFact.SentDocument] = []
    /// What was queued before in this session, by its latest version; `nil` where that is not known.
    private var before: [DocumentName: VersionVector?] = [:]
    /// Documents that are to be requested before so many transactions are acknowledged.
    private var lacking: [(name: SessionFact.Name, after: UInt64)] = []
    /// Whether the sender has lost track, and the reconciliation of everything has not begun.
    private var mustReconcile = false

    init(_ driver: SimDriver) { self.driver = driver }

    /// Records one fact of the session, and checks the rules that it concerns.
    func hear(_ fact: SessionFact) {
      switch fact {
      case .queued(let documents, let isLast):
        segments += documents
        guard isLast else { return }
        if segments.count > 0 { checkTogether() }
        segments.removeAll(keepingCapacity: true)
      case .noticeQueued(let type, let count): notices.append((type, count))
      case .noticeDequeued(let type):
        guard let index = notices.firstIndex(where: { $0.type == type }) else { return }
        leaving = notices.remove(at: index)
      case .noticesDropped(let type): notices.removeAll { $0.type == type }
      case .sent(let type, let queued, let gone): sends(type, queued, gone)
      case .lacking(let names, let count): lacking += names.map { ($0, count) }
      case .requested(let names): noteRequested(names)
      case .acknowledged(let count): checkRequested(before: count)
      case .reconciling(let isFull): if isFull { mustReconcile = false }
      }
    }

    /// Checks what must be so whenever the session is not at work.
    func endCall() {
      leaving = nil
      check(
        .sync(8), driver.session.isClosed || !driver.session.isLossUnsaid, phase: phase,
        "\(text) has lost track of what its peer lacks, and does not say so")
    }

    private var phase: String { driver.session.phase }
    private var text: String { "\(driver.peer.name) on \(driver.connection.link.name)" }
    private var world: World { driver.peer.world }
    private var other: SimPeer { driver.connection.peer(1 - driver.side) }

    // MARK: - Rule 1: in order

    private func sends(_ type: FrameType, _ queued: SessionFact.Count, _ gone: SessionFact.Count) {
      switch type {
      case .offer, .settled, .mark, .renew:
        let place = (leaving?.type == type ? leaving : notices.first { $0.type == type })?.after ?? queued
        check(
          .sync(1), gone.small >= place.small && gone.large >= place.large, phase: phase,
          "\(text) sends \(type) before transactions that were queued before it")
      case .renewed: mustReconcile = true
      default: break
      }
    }

    // MARK: - Rule 3: requests before acknowledgements

    private func noteRequested(_ names: [SessionFact.Name]) {
      guard !lacking.isEmpty else { return }
      lacking.removeAll { due in
        names.contains { $0.id == due.name.id && $0.collection == due.name.collection }
      }
    }

    private func checkRequested(before count: UInt64) {
      guard !lacking.isEmpty else { return }
      check(
        .sync(3), lacking.allSatisfy { $0.after > count }, phase: phase,
        "\(text) acknowledges \(count) transactions before it requests what they lack")
      lacking.removeAll { $0.after <= count }
    }

    // MARK: - Rule 5: what belongs together goes together

    /// Checks that a transaction brings all documents bound to it that the receiver lacks.
    ///
    /// Transactions of applications bind documents together.
    private func checkTogether() {
      let oracles = world.oracles
      guard oracles.atomicity.isChecked, !oracles.areCopiesUnnoticed else { return }
      let there = oracles.shadows[other.number].documents
      var brought: [DocumentName: SessionFact.SentDocument] = [:]
      for document in segments {
        guard let name = oracles.name(document.id, in: document.collection) else { continue }
        brought[name] = document
      }
      defer { for (name, document) in brought { before[name] = .some(document.vector) } }
      // Where a document was evicted, nothing binds the one that comes back.
      for (name, document) in brought where !world.ledger.evicted.contains(name) {
        // The receiver can use it as it is, so that nothing else makes it wait.
        guard let base = document.base, let vector = document.vector,
          (there[name]?.vector ?? VersionVector()).dominates(base)
        else { continue }
        for transaction in world.ledger.marked[name] ?? [] where transaction.outcome == .acknowledged {
          guard let write = transaction.marks[name], vector.covers(write.writer, at: write.reading),
            !base.covers(write.writer, at: write.reading),
            there[name]?.vector.reaches(VersionVector([write])) != true
          else { continue }
          let torn = transaction.marks.first { isLacking($0.key, $0.value, brought[$0.key], beside: name) }
          check(
            .sync(5), torn == nil, phase: phase,
            "\(text) sends \(name) of transaction \(transaction.number) of p\(transaction.peer) without "
              + "\(torn.map { "\($0.key)" } ?? "")")
        }
      }
    }

    /// Whether the receiver lacks a write, may have it, and does not get it.
    private func isLacking(
      _ name: DocumentName, _ write: VersionVector.Element, _ brought: SessionFact.SentDocument?,
      beside first: DocumentName
    ) -> Bool {
      if let brought {
        guard let vector = brought.vector else { return false }
        if vector.covers(write.writer, at: write.reading) { return false }
      }
      let shadows = world.oracles.shadows
      let (here, there) = (shadows[driver.peer.number].documents[name], shadows[other.number].documents[name])
      guard let here, here.isAlive, here.vector.covers(write.writer, at: write.reading),
        there?.vector.reaches(VersionVector([write])) != true
      else { return false }
      // The receiver may refuse what is on its way. That this is then bound is not seen from here.
      if let queued = before[name], queued?.covers(write.writer, at: write.reading) ?? true { return false }
      return isEntitled(name) && (world.script.rules.hasNoScopes || name.collection == first.collection)
        && !isStored(name, at: other) { $0.reaches(VersionVector([write])) }
    }

    /// Whether a document is in a store with what it must have, also by a commit that is not told yet.
    private func isStored(
      _ name: DocumentName, at peer: SimPeer, _ isEnough: (VersionVector) -> Bool
    ) -> Bool {
      if let known = world.oracles.shadows[peer.number].documents[name], isEnough(known.vector) {
        return true
      }
      guard let store = peer.store, let stored = try? Shadow(store, world.oracles) else { return false }
      return stored.documents[name].map { isEnough($0.vector) } ?? false
    }

    /// Whether the receiver subscribes to a document for sure, and nothing keeps it back.
    private func isEntitled(_ name: DocumentName) -> Bool {
      !world.ledger.evicted.contains(name) && world.script.rules.rotten?.contains(name.collection) != true
        && other.subscriptions.contains { $0.selects(name) == true }
        && driver.peer.maySend(name.collection, to: other)
    }

    // MARK: - Rule 6: a mark claims all

    /// Checks that everything up to a commit of the other end is here, as a checkpoint is about to say.
    func willStore(checkpoint sequence: UInt64) {
      check(
        .sync(8), !mustReconcile, phase: phase,
        "\(text) stores a checkpoint though the sender has lost track")
      let (rules, oracles) = (world.script.rules, world.oracles)
      guard rules.hasFixedInterests, rules.hasFixedScopes, rules.keepsDeletions, rules.hasNoCopies,
        rules.hasNoDefaults, rules.rotten == nil, !oracles.areCopiesUnnoticed,
        let end = driver.connection.ends[1 - driver.side], other.store != nil
      else { return }
      let there = oracles.shadows[other.number]
      for (name, place) in there.places where place <= sequence {
        guard let known = there.documents[name], known.isAlive, !world.ledger.evicted.contains(name),
          driver.peer.subscriptions.contains(where: { $0.selects(name) == true }),
          other.maySend(name.collection, to: driver.peer)
        else { continue }
        check(
          .sync(6), isStored(name, at: driver.peer) { $0.reaches(known.vector) }, phase: end.session.phase,
          "\(text) stores \(sequence) as its checkpoint and lacks \(name), which \(other.name) has since \(place)"
        )
      }
    }

    // MARK: - Rule 8: in doubt, compare

    /// Checks that whoever says that all is here has reconciled since the sender lost track.
    func caughtUp() {
      check(
        .sync(8), !mustReconcile, phase: phase,
        "\(text) is caught up though the sender has lost track, and nothing was reconciled since")
    }
  }
#endif
