import CRDTCore

/// One packet between two ends of a link over packets.
///
/// Numbers of packets are counted in 64 bits and travel as their lowest 16. The checksum at the end covers the full numbers and the tags of
/// both ends as well, none of which travels: a packet of another link, or one that is 65,536 packets late, is one with a wrong checksum.
package enum DatagramPacket: Hashable, Sendable {
  case hello(DatagramHello)
  case data(DatagramSegment, DatagramAcknowledgement?)
  /// What has arrived; where `asks`, the other end is to answer with the same.
  case acknowledgement(DatagramAcknowledgement, asks: Bool)
  /// The end is over: in order, in which case the other one is too, or because it was closed or met an error.
  case close(inOrder: Bool)
}

/// How an end introduces itself.
package struct DatagramHello: Hashable, Sendable {
  /// The versions of this format.
  package static let versions: ClosedRange<UInt8> = 1...1

  package var versions = Self.versions
  /// A random number above 0 that tells this end from earlier ones.
  package var tag: UInt32
  /// The tag that the other end was heard with; 0 where it was not heard.
  package var heard: UInt32
  /// The most bytes of one packet that this end takes.
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
  /// Its place in the stream of packets.
  package var number: Int64
  package var bytes: [UInt8]
  /// Whether the stream ends behind it.
  package var isLast: Bool

  package init(number: Int64, bytes: [UInt8], isLast: Bool) {
    self.number = number
    self.bytes = bytes
    self.isLast = isLast
  }
}

/// What an end has received, and how much more it takes.
package struct DatagramAcknowledgement: Hashable, Sendable {
  /// The first packet that has not arrived.
  package var next: Int64
  /// Packets from that one on that may be sent.
  package var credit: Int
  /// Which packets behind it have arrived: the lowest bit of the first byte stands for `next + 1`.
  package var beyond: [UInt8] = []

  package init(next: Int64, credit: Int, beyond: [UInt8] = []) {
    self.next = next
    self.credit = credit
    self.beyond = beyond
  }

  /// The packets that it names behind `next`.
  package var numbersBeyond: [Int64] {
    beyond.indices.flatMap { index in
      (0..<8).filter { beyond[index] >> $0 & 1 == 1 }.map { next + 1 + Int64(index * 8 + $0) }
    }
  }
}

/// The tags of the two ends, in the direction that a packet travels in.
package struct DatagramTags: Hashable, Sendable {
  package var sender: UInt32
  package var receiver: UInt32

  package init(sender: UInt32, receiver: UInt32) {
    self.sender = sender
    self.receiver = receiver
  }

  /// Those of a hello, which carries its own.
  package static let unknown = DatagramTags(sender: 0, receiver: 0)
}
