#if Server
  import Foundation
  import Links
  import Logging
  import Synchronization

  /// Records the events of a login endpoint: figures, the log, and the audit log.
  ///
  /// Each entry of the audit log is a transaction on disk. Refusals therefore have an entry each only up to a
  /// rate. Beyond it they are counted, and one entry a minute contains their number. Each kind of proof of a
  /// device has a rate of its own, because some cost an attacker nothing.
  final class LoginRecords: Sendable {
    /// How far a refused device has proved its identity.
    private enum IdentityProof: Hashable {
      case unproven
      /// The device has proved its key, which it may have made just before.
      case proven
      /// The webhook has named the user.
      case named
    }

    private struct Refusals {
      var audited = RateLimiter<IdentityProof>(
        atOnce: LoginRecords.auditedAtOnce, interval: LoginRecords.auditedInterval)
      var summaries = RateLimiter<Int>(atOnce: 1, interval: LoginRecords.summaryInterval)
      /// Refusals without an entry of their own that no summary contains yet.
      var uncounted = 0
    }

    /// The burst limit of audited refusals with one kind of proof.
    private static let auditedAtOnce = 200
    /// The time until one more refusal is audited.
    private static let auditedInterval = Duration.milliseconds(100)
    /// The time between two summaries.
    private static let summaryInterval = Duration.seconds(60)

    private let audit: LoginAudit
    private let clock: LoginClock
    private let logger: Logger
    private let refusals = Mutex(Refusals())
    /// Limits logging and auditing to one entry a minute for each address with too many requests.
    private let floods = Mutex(
      RateLimiter<ConnectionOrigin>(atOnce: 1, interval: LoginRecords.summaryInterval))
    private let counts = Mutex<[LoginOutcome: UInt64]>([:])

    init(_ audit: LoginAudit, _ clock: LoginClock, _ logger: Logger) {
      (self.audit, self.clock, self.logger) = (audit, clock, logger)
    }

    /// The number of requests by outcome.
    var figures: [LoginOutcome: UInt64] { counts.withLock { $0 } }

    func count(_ outcome: LoginOutcome) { counts.withLock { $0[outcome, default: 0] += 1 } }

    /// Records that a certificate was issued; its entry is already in the audit log.
    func issued(_ event: LoginEvent) {
      count(.granted)
      logger.info("A certificate was issued", metadata: metadata(event))
    }

    /// Records that an address sends too many requests.
    func flood(_ origin: LoginOrigin) async {
      count(.flood)
      let now = clock.moment()
      guard floods.withLock({ $0.take(origin.group, at: now) }) == nil else { return }
      var event = LoginEvent(.refused, at: clock.now())
      (event.source, event.reason) = (PlainText.of(origin.text), "too many requests from one address")
      await record(event)
    }

    /// Records a refusal.
    ///
    /// - Parameters:
    ///   - refusal: The reason.
    ///   - entry: The known data of the login.
    ///   - isProven: Whether the device has proved its key.
    func refused(_ refusal: LoginRefusal, _ entry: LoginEvent, isProven: Bool) async {
      count(refusal.outcome)
      let now = clock.moment()
      let proof: IdentityProof = refusal.user != nil ? .named : isProven ? .proven : .unproven
      let (isAudited, many) = refusals.withLock { refusals -> (Bool, Int) in
        let isAudited = refusals.audited.take(proof, at: now) == nil
        if !isAudited { refusals.uncounted += 1 }
        guard refusals.uncounted > 0, refusals.summaries.take(0, at: now) == nil else {
          return (isAudited, 0)
        }
        defer { refusals.uncounted = 0 }
        return (isAudited, refusals.uncounted)
      }
      if many > 0 {
        var event = LoginEvent(.refused, at: clock.now())
        event.reason =
          "logins refused without entries of their own: \(many)"
        await record(event)
      }
      guard isAudited else { return }
      var event = entry
      (event.user, event.reason) = (refusal.user, refusal.why)
      await record(event, level: refusal.level)
    }

    /// Adds a refusal to the audit log; the refusal holds even if that cannot be written.
    private func record(_ event: LoginEvent, level: Logger.Level = .info) async {
      do {
        try await audit.add(event)
      } catch {
        logger.error("The audit log of logins cannot be written: \(error)")
      }
      logger.log(level: level, "A login was refused", metadata: metadata(event))
    }

    private func metadata(_ event: LoginEvent) -> Logger.Metadata {
      var metadata: Logger.Metadata = [:]
      for (name, text) in [
        ("user", event.user), ("device", event.deviceKey), ("provider", event.provider),
        ("source", event.source), ("reason", event.reason), ("serial", event.serialNumber),
      ] {
        if let text { metadata[name] = "\(PlainText.of(text))" }
      }
      if let end = event.validUntil { metadata["until"] = "\(end.timeText)" }
      return metadata
    }
  }
#endif
