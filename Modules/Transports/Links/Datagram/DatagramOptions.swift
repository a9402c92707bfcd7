/// How a link over packets behaves.
public struct DatagramOptions: Hashable, Sendable {
  /// Bytes of packets that this end keeps for its user or until a gap is filled; at most 255 packets.
  ///
  /// It bounds what the other end may have in flight.
  public var windowBytes = 32 << 10
  /// How long the other end may take to say hello.
  public var helloDeadline: Duration = .seconds(10)
  /// For how long nothing may be heard before the other end is asked for a sign of life.
  public var keepAlive: Duration = .seconds(8)
  /// For how long nothing may be heard before the link ends.
  public var silence: Duration = .seconds(30)
  /// For how long an end that is over goes on saying so, unless the other one says the same before.
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
  /// Packets that an end may grant the other one: what one byte counts.
  package static let window = 255
  /// The fewest packets that an end grants, however large they are.
  package static let smallestWindow = 4
  /// Packets in a row whose checksum is wrong before the link ends.
  package static let damagedInARow = 64
  /// Hellos of an unknown end in a row, with nothing from the known one, before the link ends.
  package static let strangersInARow = 3
  /// How often a packet is sent before the link ends.
  package static let transmissions = 24
  /// Packets that were sent later and have arrived before one counts as lost.
  package static let reordering = 3
  /// Packets in flight at the start, and most that are added for one acknowledgement's time.
  package static let firstBurst = 8
  /// Packets in flight after nothing was acknowledged in time.
  package static let leastBurst = 2
  /// Time that packets may wait on their way, beyond the shortest round trip, before fewer are put in flight.
  package static let queueTime: Duration = .milliseconds(250)
  /// Packets after which an acknowledgement is sent at once.
  package static let unacknowledged = 8
  /// How long an acknowledgement waits for a packet that it can travel in.
  package static let acknowledgementDelay: Duration = .milliseconds(40)
  /// The first pause between hellos, and between closes, which doubles.
  package static let helloPause: Duration = .milliseconds(250)
  /// The longest pause between hellos.
  package static let longestHelloPause: Duration = .seconds(2)
}
