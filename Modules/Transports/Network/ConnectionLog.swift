package import Links
package import Logging
import NIOConcurrencyHelpers

/// Writes log lines of connections, with a limit for each kind and address.
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

  /// The number of lines at once, before there is one in each interval.
  package static let burst = 8
  package static let interval = Duration.seconds(60)
  /// The number of addresses that are counted separately.
  package static let addresses = 1_024

  private let logger: Logger
  private let allowances = NIOLockedValueBox<[Source: Allowance]>([:])

  package init(_ logger: Logger) { self.logger = logger }

  /// Writes a line, unless there were too many of its kind from its address.
  package func write(
    _ level: Logger.Level, _ kind: Kind, from endpoint: LinkEndpoint, at now: Duration, _ text: String
  ) {
    guard level >= logger.logLevel else { return }
    guard let passedOver = take(kind, endpoint.host, now) else { return }
    let note = passedOver == 0 ? "" : " (\(passedOver) lines of this kind were passed over)"
    logger.log(level: level, "\(text)\(note)")
  }

  /// Requests permission for one line.
  ///
  /// - Returns: How many lines were dropped since the last one; `nil` when this one is dropped too.
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
  /// The address without the port, which differs for each connection.
  fileprivate var host: String { address.lastIndex(of: ":").map { String(address[..<$0]) } ?? address }
}
