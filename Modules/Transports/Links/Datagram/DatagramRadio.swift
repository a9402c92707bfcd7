/// A channel that carries small packets to one peer and back, as Bluetooth LE or a serial radio does.
///
/// Packets may be lost, doubled, delayed and reordered; what arrives is whole. `DatagramLink` makes a `Link` of it. All of it may be
/// called from any thread.
public protocol DatagramRadio: AnyObject, Sendable {
  /// What kind of radio it is and where its other end is, for logs and presence.
  var endpoint: LinkEndpoint { get }

  /// The most bytes of one packet here, 20 to 16,384; it does not change.
  var maximumPacketBytes: Int { get }

  /// Hands what arrives to `receiver` from now on; called once. What arrived before may be dropped.
  func attach(_ receiver: any DatagramReceiver)

  /// Takes a packet for the air; never waits.
  ///
  /// - Returns: `false` where the radio's own queue is full and the packet was not taken. Then the radio calls `ready` once there is
  ///   room again. A short queue serves best: what waits in it delays all that comes later.
  func send(_ packet: [UInt8]) -> Bool

  /// Ends the channel; nothing is handed over any more, and the receiver is let go of. Closing again has no effect.
  func close()
}

/// Whom a radio brings packets to; callable from any thread, also out of a call of `send`.
public protocol DatagramReceiver: AnyObject, Sendable {
  /// A packet has arrived.
  func received(_ packet: [UInt8])

  /// The radio takes packets again, after it did not take one.
  func ready()

  /// The channel is no more; `reason` says why in one sentence, for people.
  func ended(_ reason: String)
}
