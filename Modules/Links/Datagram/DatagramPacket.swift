import CRDTCore

/// One packet between two ends of a link over packets.
///
/// Packets are counted in 64 bits, and the lowest 16 are sent. The checksum at the end also covers the full
/// numbers and the tags of both ends, which are not sent. So a packet of another link has a wrong checksum,
/// and so has one that is 65,536 packets late.
package enum DatagramPacket: Hashable, Sendable {
  case hello(DatagramHello)
  case data(DatagramSegment, DatagramAcknowledgement?)
  /// What has arrived. If `asks`, the other end must answer with an acknowledgement of its own.
  case acknowledgement(DatagramAcknowledgement, asks: Bool)
  /// The end is over: in order, and then the other one is too; or because it was closed or failed.
  case close(inOrder: Bool)
}

/// The introduction of an end.
package struct DatagramHello: Hashable, Sendable {
  /// The versions of this format.
  package static let versions: ClosedRange<UInt8> = 1...1

  package var versions = Self.versions
  /// A random number above 0 that distinguishes this end from earlier ones.
  package var tag: UInt32
  /// The tag of the other end's latest hello; 0 when none was received.
  package var heard: UInt32
  /// The largest packet that this end accepts, in bytes.
  package var packetBytes: Int
  /// Packets that may be sent to this end before it acknowledges one.
  package var window: Int
  /// Whether the other end is known to have heard this one, so that no answer is needed.
  package var isMet: Bool

  package init(tag: UInt32, heard: UInt32, packetBytes: Int, window: Int, isMet: Bool) {
    self.tag = tag
    self.heard = heard
    self.packetBytes = packetBytes
    self.window = window
    self.isMet = isMet
  }
}

/// A part of a stream of bytes.
package struct DatagramSegment: Hashable, Sendable {
  /// Its position in the stream of packets.
  package var number: Int64
  package var bytes: [UInt8]
  /// Whether the stream ends after it.
  package var isLast: Bool

  package init(number: Int64, bytes: [UInt8], isLast: Bool) {
    self.number = number
    self.bytes = bytes
    self.isLast = isLast
  }
}

/// What an end has received, and how much more it accepts.
package struct DatagramAcknowledgement: Hashable, Sendable {
  /// The first packet that has not arrived.
  package var next: Int64
  /// The number of packets from that one on that may be sent.
  package var credit: Int
  /// Which packets after it have arrived: the lowest bit of the first byte is `next + 1`.
  package var beyond: [UInt8] = []

  package init(next: Int64, credit: Int, beyond: [UInt8] = []) {
    self.next = next
    self.credit = credit
    self.beyond = beyond
  }

  /// The packets after `next` that it names.
  package var numbersBeyond: [Int64] {
    beyond.indices.flatMap { index in
      (0..<8).filter { beyond[index] >> $0 & 1 == 1 }.map { next + 1 + Int64(index * 8 + $0) }
    }
  }
}

/// The tags of the two ends of a packet.
package struct DatagramTags: Hashable, Sendable {
  package var sender: UInt32
  package var receiver: UInt32

  package init(sender: UInt32, receiver: UInt32) {
    self.sender = sender
    self.receiver = receiver
  }

  /// The tags for the checksum of a hello, which contains its own.
  package static let unknown = DatagramTags(sender: 0, receiver: 0)
}
