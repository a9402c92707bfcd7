#if Server
  import Foundation
  import Logging
  import Synchronization
  import Transports

  /// What a login endpoint writes down: figures, the log, and the audit log.
  ///
  /// An entry of the audit log is a transaction on disk. So refusals have an entry each only up to a rate; beyond it they are counted, and one
  /// entry a minute says how many there were. The rate is one for each way in which a device may be known, as some cost it nothing.
  final class LoginRecords: Sendable {
    /// What a refused device has proved.
    private enum Standing: Hashable {
      case unproven
      /// The device has proved its key, which it may have made a moment ago.
      case proven
      /// The webhook has named the user.
      case named
    }

    private struct Refusals {
      var audited = RateLimiter<Standing>(
        atOnce: LoginRecords.auditedAtOnce, interval: LoginRecords.auditedInterval)
      var summaries = RateLimiter<Int>(atOnce: 1, interval: LoginRecords.summaryInterval)
      /// Refusals without an entry of their own that no summary has counted.
      var uncounted = 0
    }

    /// Refusals of one standing that are audited at once.
    private static let auditedAtOnce = 200
    /// How long it takes until one more is.
    private static let auditedInterval = Duration.milliseconds(100)
    /// The time between two entries for many.
    private static let summaryInterval = Duration.seconds(60)

    private let audit: LoginAudit
    private let clock: LoginClock
    private let logger: Logger
    private let refusals = Mutex(Refusals())
    /// One line in the log and one audited refusal for each address and minute in which it asks too often.
    private let floods = Mutex(
      RateLimiter<ConnectionOrigin>(atOnce: 1, interval: LoginRecords.summaryInterval))
    private let counts = Mutex<[LoginOutcome: UInt64]>([:])

    init(_ audit: LoginAudit, _ clock: LoginClock, _ logger: Logger) {
      (self.audit, self.clock, self.logger) = (audit, clock, logger)
    }

    /// How often each outcome was.
    var figures: [LoginOutcome: UInt64] { counts.withLock { $0 } }

    func count(_ outcome: LoginOutcome) { counts.withLock { $0[outcome, default: 0] += 1 } }

    /// Notes that a certificate was issued; its entry in the audit log is there.
    func issued(_ event: LoginEvent) {
      count(.granted)
      logger.info("A certificate was issued", metadata: metadata(event))
    }

    /// Notes that an address asks too often.
    func flood(_ origin: LoginOrigin) async {
      count(.flood)
      let now = clock.moment()
      guard floods.withLock({ $0.take(origin.group, at: now) }) == nil else { return }
      var event = LoginEvent(.refused, at: clock.now())
      (event.source, event.reason) = (PlainText.of(origin.text), "too many requests from one address")
      await record(event)
    }

    /// Notes a refusal.
    ///
    /// - Parameters:
    ///   - refusal: Why.
    ///   - entry: What there is to say of the login.
    ///   - isProven: Whether the device has proved its key.
    func refused(_ refusal: LoginRefusal, _ entry: LoginEvent, isProven: Bool) async {
      count(refusal.outcome)
      let now = clock.moment()
      let standing: Standing = refusal.user != nil ? .named : isProven ? .proven : .unproven
      let (isAudited, many) = refusals.withLock { refusals -> (Bool, Int) in
        let isAudited = refusals.audited.take(standing, at: now) == nil
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

    /// A refusal stays one where the audit log cannot be written.
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
      if let end = event.validUntil { metadata["until"] = "\(end.formatted(.iso8601))" }
      return metadata
    }
  }
#endif
