#if TLS
  import CRDTCore
  import DocStore
  import Logging
  import Synchronization
  import Transports

  /// Holds sync while no peer has confirmed the revocation lists for too long.
  ///
  /// The time is the store's lived time, which follows the wall clock and counts a day at most for a period
  /// without use.
  final class RevocationFreshness: Sendable {
    /// The key of the last confirmation's lived time, shorter than that of any list.
    private static let key = Array("seen".utf8)

    private let limit: Duration
    private let store: Store
    private let network: PeerNetwork
    private let reporter: Reporter
    private let state = Mutex(State())

    private struct State {
      var watch: Task<Void, Never>?
      /// When a confirmation was last written; others in the next minute are not.
      var written: ContinuousClock.Instant?
    }

    init(limit: Duration, store: Store, network: PeerNetwork, reporter: Reporter) {
      (self.limit, self.store, self.network, self.reporter) = (limit, store, network, reporter)
    }

    /// Whether sync is held.
    var isOutdated: Bool { network.isHeld }

    /// Looks how old the last confirmation is, and again at intervals until ``close()``.
    ///
    /// A database that has none counts from now on.
    func begin() throws {
      let (age, _) = try store.write { try Self.age($0) }
      judge(age)
      let pause = max(min(limit / 10, .seconds(3_600)), .milliseconds(10))
      let watch = Task { [weak self] in
        while (try? await Task.sleep(for: pause)) != nil {
          guard let self else { return }
          check()
        }
      }
      state.withLock { $0.watch = watch }
    }

    /// Looks how old the last confirmation is, soon.
    func check() {
      let box = AgeBox()
      store.enqueue { transaction in
        let found = try Self.age(transaction)
        box.set(found)
      } completion: { [weak self] result in
        switch result {
        case .success: if let age = box.value { self?.judge(age) }
        case .failure(let error): self?.reporter.fail("reading when revocations were confirmed", error)
        }
      }
    }

    /// Carries a value from a transaction to its completion.
    private final class AgeBox: Sendable {
      private let age = Mutex<Duration?>(nil)

      func set(_ value: Duration) { age.withLock { $0 = value } }
      var value: Duration? { age.withLock { $0 } }
    }

    /// How old the last confirmation is; a database without one begins with this.
    private static func age(_ transaction: WriteTransaction) throws -> Duration {
      let now = try transaction.lastingTime()
      if let bytes = try transaction.sideValue(RevocationKeeper.table, key: key, ignoringDamage: true) {
        var reader = ByteReader(bytes.span.bytes)
        if let seen = try? reader.readFixed(as: UInt64.self) {
          return .milliseconds(Int64(clamping: now - min(seen, now)))
        }
      }
      try write(now, transaction)
      return .zero
    }

    private static func write(_ time: UInt64, _ transaction: WriteTransaction) throws {
      var out = ByteWriter()
      out.writeFixed(time)
      try transaction.setSideValue(out.bytes, RevocationKeeper.table, key: key)
    }

    private func judge(_ age: Duration) {
      guard age > limit, network.hold(true) else { return }
      reporter.fail(
        "syncing",
        DunlinError(
          .identity,
          "no peer has confirmed the revocation lists for \(age), and the limit is \(limit): no document is sent or taken until one does"
        ))
    }

    /// Records that a peer has confirmed the lists, and releases sync.
    func confirmed() {
      let isHeld = network.hold(false)
      if isHeld { reporter.logger.notice("A peer has confirmed the revocation lists: sync goes on") }
      let now = ContinuousClock.now
      let isDue = state.withLock { state in
        if !isHeld, let written = state.written, now - written < min(.seconds(60), limit / 100) {
          return false
        }
        state.written = now
        return true
      }
      guard isDue else { return }
      store.enqueue { transaction in
        try Self.write(try transaction.lastingTime(), transaction)
      } completion: { [reporter] result in
        if case .failure(let error) = result {
          reporter.fail("storing when revocations were confirmed", error)
        }
      }
    }

    func close() { state.withLock { $0.watch }?.cancel() }
  }
#endif
