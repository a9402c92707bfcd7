/// A channel that carries small packets to one peer and back, such as Bluetooth LE or a serial radio.
///
/// Packets may be lost, duplicated, delayed and reordered, but they arrive whole. `DatagramLink` makes a
/// `Link` of a radio. All members may be called from any thread.
public protocol DatagramRadio: AnyObject, Sendable {
  /// The kind of radio and the address of its other end, for logs and presence.
  var endpoint: LinkEndpoint { get }

  /// The largest packet of this radio in bytes, 20 to 16,384; it does not change.
  var maximumPacketBytes: Int { get }

  /// Delivers packets to `receiver` from now on; called once. Earlier packets may be dropped.
  func attach(_ receiver: any DatagramReceiver)

  /// Queues a packet for sending; never waits.
  ///
  /// - Returns: `false` when the radio's own queue is full and the packet was not accepted. The radio then
  ///   calls `ready` once there is room again. A short queue is best: packets that wait in it delay all later
  ///   ones.
  func send(_ packet: [UInt8]) -> Bool

  /// Ends the channel, stops deliveries and releases the receiver. Closing again has no effect.
  func close()
}

/// The receiver of a radio's packets; callable from any thread, also from within a call of `send`.
public protocol DatagramReceiver: AnyObject, Sendable {
  /// Takes a packet that has arrived.
  func received(_ packet: [UInt8])

  /// Says that the radio accepts packets again, after it refused one.
  func ready()

  /// Says that the channel has ended; `reason` says why in one readable sentence.
  func ended(_ reason: String)
}
