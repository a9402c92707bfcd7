/// A message of the domain name system, as multicast DNS uses it (RFC 1035, 4; RFC 6762, 18).
struct DNSMessage: Hashable, Sendable {
  /// Bytes that a message may have that is read.
  static let byteLimit = 9_000
  /// Bytes of a packet that is sent, so that it fits into an Ethernet frame with the headers of IPv6 and UDP.
  static let packetBytes = 1_440
  /// Questions and records of a message that is read; what a network needs is far less.
  static let recordLimit = 512

  struct Question: Hashable, Sendable {
    let name: DNSName
    let kind: DNSRecord.Kind
    /// Whether an answer may be sent to the asker alone.
    var wantsUnicast = false
  }

  /// Zero in multicast; a plain resolver's question has one, which the answer repeats.
  var id: UInt16 = 0
  var isResponse = false
  /// Whether more known answers follow in another message.
  var isTruncated = false
  var questions: [Question] = []
  /// In a question, what the asker knows already.
  var answers: [DNSRecord] = []
  var additional: [DNSRecord] = []

  /// An answer with these records.
  static func response(_ answers: [DNSRecord], additional: [DNSRecord] = []) -> DNSMessage {
    var message = DNSMessage()
    message.isResponse = true
    message.answers = answers
    message.additional = additional
    return message
  }

  static let internetClass: UInt16 = 1
  static let anyClass: UInt16 = 255
  /// Marks unique records, and questions for an answer by unicast.
  static let topBit: UInt16 = 0x8000
  static let headerBytes = 12

  /// The bits of a header's second word.
  enum Flags {
    static let response: UInt16 = 0x8000
    static let authoritative: UInt16 = 0x0400
    static let truncated: UInt16 = 0x0200
    /// What is zero in a standard query, and in an answer without an error.
    static let operationAndError: UInt16 = 0x780F
  }
}
