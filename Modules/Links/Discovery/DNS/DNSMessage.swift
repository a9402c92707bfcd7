/// A DNS message, as multicast DNS uses it (RFC 1035, 4; RFC 6762, 18).
struct DNSMessage: Hashable, Sendable {
  /// The largest message that is read, in bytes.
  static let byteLimit = 9_000
  /// The largest packet that is sent, in bytes.
  ///
  /// With IPv6 and UDP headers it fits into an Ethernet frame.
  static let packetBytes = 1_440
  /// The most questions and records in a message that is read; networks need far fewer.
  static let recordLimit = 512

  struct Question: Hashable, Sendable {
    let name: DNSName
    let kind: DNSRecord.Kind
    /// Whether an answer may be sent to the asker alone.
    var wantsUnicast = false
  }

  /// Zero in multicast.
  ///
  /// A plain resolver's question has an id, which the answer repeats.
  var id: UInt16 = 0
  var isResponse = false
  /// Whether more known answers follow in another message.
  var isTruncated = false
  var questions: [Question] = []
  /// In a question, the records that the asker knows already.
  var answers: [DNSRecord] = []
  var additional: [DNSRecord] = []

  /// Makes an answer with these records.
  static func response(_ answers: [DNSRecord], additional: [DNSRecord] = []) -> DNSMessage {
    var message = DNSMessage()
    message.isResponse = true
    message.answers = answers
    message.additional = additional
    return message
  }

  static let internetClass: UInt16 = 1
  static let anyClass: UInt16 = 255
  /// Marks unique records, and questions that accept a unicast answer.
  static let topBit: UInt16 = 0x8000
  static let headerBytes = 12

  /// The bits of a header's second word.
  enum Flags {
    static let response: UInt16 = 0x8000
    static let authoritative: UInt16 = 0x0400
    static let truncated: UInt16 = 0x0200
    /// The bits that are zero in a standard query, and in an answer without an error.
    static let operationAndError: UInt16 = 0x780F
  }
}
