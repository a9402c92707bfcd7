/// A resource record (RFC 1035, 3.2; RFC 6762, 10).
struct DNSRecord: Hashable, Sendable {
  /// The types of records that are used here.
  struct Kind: RawRepresentable, Hashable, Sendable {
    let rawValue: UInt16

    static let a = Kind(rawValue: 1)
    static let ptr = Kind(rawValue: 12)
    static let txt = Kind(rawValue: 16)
    static let aaaa = Kind(rawValue: 28)
    static let srv = Kind(rawValue: 33)
    static let nsec = Kind(rawValue: 47)
    static let any = Kind(rawValue: 255)
  }

  /// The data of a record.
  enum Contents: Hashable, Sendable {
    case a([UInt8])
    case aaaa([UInt8])
    case ptr(DNSName)
    case srv(host: DNSName, port: UInt16)
    case txt([[UInt8]])
    /// The record's name has records of these types and of no others; types below 256 only.
    case nsec([Kind])
    /// The data of a type that is not interpreted.
    case other(Kind, [UInt8])
  }

  var name: DNSName
  var contents: Contents
  /// The time to live in seconds; 0 says that the record is no longer valid ("goodbye").
  var timeToLive: UInt32
  /// Whether it replaces all others of its name and type (the cache-flush bit).
  ///
  /// Such records are *unique*; others are *shared*.
  var isUnique = false

  var kind: Kind {
    switch contents {
    case .a: .a
    case .aaaa: .aaaa
    case .ptr: .ptr
    case .srv: .srv
    case .txt: .txt
    case .nsec: .nsec
    case .other(let kind, _): kind
    }
  }

  /// The same record with a time to live of 0.
  var goodbye: DNSRecord {
    var record = self
    record.timeToLive = 0
    return record
  }

  /// Whether both have the same name and data; times to live may differ.
  func says(whatIsSaidBy other: DNSRecord) -> Bool { name == other.name && contents == other.contents }
}
