/// The settings of a link over packets.
public struct DatagramOptions: Hashable, Sendable {
  /// Bytes of packets that this end holds for its user or until a gap is filled; at most 255 packets.
  ///
  /// It bounds what the other end may have in flight.
  public var windowBytes = 32 << 10
  /// How long the other end may take to say hello.
  public var helloDeadline: Duration = .seconds(10)
  /// The time of silence after which the other end is asked for a sign of life.
  public var keepAlive: Duration = .seconds(8)
  /// The time of silence after which the link ends.
  public var silence: Duration = .seconds(30)
  /// How long an end that is over repeats its close, unless the other one closes before.
  public var linger: Duration = .seconds(8)

  /// The defaults.
  public init() {}
}

/// Bounds of links over packets.
package enum DatagramLimits {
  /// Bytes of the smallest packets that a radio may have: those of Bluetooth LE before it negotiates.
  package static let smallestPacket = 20
  /// Bytes of the largest packets.
  package static let largestPacket = 16_384
  /// The most packets that an end may grant: the largest number in one byte.
  package static let window = 255
  /// The fewest packets that an end grants, however large they are.
  package static let smallestWindow = 4
  /// The number of packets in a row with a wrong checksum after which the link ends.
  package static let damagedInARow = 64
  /// After so many hellos of an unknown end in a row, with nothing from the known one, the link ends.
  package static let strangersInARow = 3
  /// How often a packet is sent before the link ends.
  package static let transmissions = 24
  /// A packet counts as lost when so many packets that were sent later have arrived.
  package static let reordering = 3
  /// Packets in flight at the start.
  package static let firstBurst = 8
  /// Packets in flight after an acknowledgement timed out.
  package static let leastBurst = 2
  /// The time in queues, beyond the shortest round trip, above which fewer packets are put in flight.
  package static let queueTime: Duration = .milliseconds(250)
  /// Packets after which an acknowledgement is sent at once.
  package static let unacknowledged = 8
  /// How long an acknowledgement waits for a data packet that can carry it.
  package static let acknowledgementDelay: Duration = .milliseconds(40)
  /// The first pause between hellos, and between closes.
  ///
  /// Each later pause is twice as long.
  package static let helloPause: Duration = .milliseconds(250)
  /// The longest pause between hellos.
  package static let longestHelloPause: Duration = .seconds(2)
}
