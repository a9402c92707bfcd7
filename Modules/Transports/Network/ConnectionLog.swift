package import Logging
import NIOConcurrencyHelpers

/// What connections have to say to the log, so much of each kind and address that none fills it.
package final class ConnectionLog: Sendable {
  package enum Kind: Hashable {
    case connected, disconnected, session
  }

  private struct Source: Hashable {
    let kind: Kind
    /// `nil` for all addresses for which there is no room.
    let address: String?
  }

  private struct Allowance {
    var lines = ConnectionLog.burst
    var since: Duration
    var passedOver = 0
  }

  /// So many lines at once, and then one in each interval.
  package static let burst = 8
  package static let interval = Duration.seconds(60)
  /// So many addresses are told apart.
  package static let addresses = 1_024

  private let logger: Logger
  private let allowances = NIOLockedValueBox<[Source: Allowance]>([:])

  package init(_ logger: Logger) { self.logger = logger }

  /// Writes a line, unless too many of its kind came from its address.
  package func write(
    _ level: Logger.Level, _ kind: Kind, from endpoint: LinkEndpoint, at now: Duration, _ text: String
  ) {
    guard level >= logger.logLevel else { return }
    guard let passedOver = take(kind, endpoint.host, now) else { return }
    let note = passedOver == 0 ? "" : " (\(passedOver) lines of this kind were passed over)"
    logger.log(level: level, "\(text)\(note)")
  }

  /// Takes leave for one line.
  ///
  /// - Returns: How many had none since the last one, or `nil` when this one has none.
  private func take(_ kind: Kind, _ address: String, _ now: Duration) -> Int? {
    allowances.withLockedValue { allowances in
      var source = Source(kind: kind, address: address)
      if allowances[source] == nil, allowances.count >= Self.addresses {
        allowances = allowances.filter { now - $0.value.since < Self.interval * Self.burst }
        if allowances.count >= Self.addresses { source = Source(kind: kind, address: nil) }
      }
      var allowance = allowances[source] ?? Allowance(since: now)
      defer { allowances[source] = allowance }
      let earned = Int((now - allowance.since) / Self.interval)
      if earned > 0 {
        allowance.lines = min(allowance.lines + earned, Self.burst)
        allowance.since += Self.interval * earned
      }
      guard allowance.lines > 0 else {
        allowance.passedOver += 1
        return nil
      }
      allowance.lines -= 1
      defer { allowance.passedOver = 0 }
      return allowance.passedOver
    }
  }
}

extension LinkEndpoint {
  /// The address without the port, which is another one for each connection.
  fileprivate var host: String { address.lastIndex(of: ":").map { String(address[..<$0]) } ?? address }
}
