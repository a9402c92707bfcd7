/// The names under which peers are found on a local network (DNS-SD, RFC 6763).
enum ServiceNames {
  /// The service of all peers of all applications.
  static let service = DNSName(known: "_dunlin", "_tcp", "local")
  /// The list of all services.
  static let allServices = DNSName(known: "_services", "_dns-sd", "_udp", "local")

  /// The time to live of a host's address or port, in seconds (RFC 6762, 10).
  static let hostTimeToLive: UInt32 = 120
  /// The time to live of all other records, in seconds.
  static let otherTimeToLive: UInt32 = 4_500

  /// The peers with a tag (a subtype, RFC 6763, 7.1).
  ///
  /// A search for it finds no others.
  static func peers(tagged tag: String) -> DNSName? {
    DNSName([Array("_\(tag)".utf8), Array("_sub".utf8)] + service.labels)
  }
}

/// The service that a peer advertises on one interface.
struct Service: Hashable, Sendable {
  /// A random label that is unique to this peer.
  var instance: String
  var port: UInt16
  /// The tag by which peers of the same application recognize it.
  var tag: String
  /// The interface's addresses, of 4 or 16 bytes each.
  var addresses: [[UInt8]]

  /// The instance's name; `nil` when the label is invalid.
  var name: DNSName? { ServiceNames.service.prefixed(by: instance) }

  /// The name of this host, which is as random as the instance.
  var host: DNSName? { DNSName([Array(instance.utf8), Array("local".utf8)]) }

  /// The records of the service; none when the label or the tag is invalid.
  var records: [DNSRecord] {
    guard let name, let host, let tagged = ServiceNames.peers(tagged: tag) else { return [] }
    let (short, long) = (ServiceNames.hostTimeToLive, ServiceNames.otherTimeToLive)
    return [
      DNSRecord(name: tagged, contents: .ptr(name), timeToLive: long),
      DNSRecord(name: ServiceNames.service, contents: .ptr(name), timeToLive: long),
      DNSRecord(name: ServiceNames.allServices, contents: .ptr(ServiceNames.service), timeToLive: long),
      DNSRecord(name: name, contents: .srv(host: host, port: port), timeToLive: short, isUnique: true),
      // A TXT record is required; this one is empty.
      DNSRecord(name: name, contents: .txt([[]]), timeToLive: long, isUnique: true),
    ]
      + addresses.map { address in
        DNSRecord(
          name: host, contents: address.count == 4 ? .a(address) : .aaaa(address), timeToLive: short,
          isUnique: true)
      }
  }

  /// The records that list the record types of this peer's own names (RFC 6762, 6.1).
  ///
  /// They say that these names have no records of other types.
  var denials: [DNSRecord] {
    guard let name, let host else { return [] }
    let kinds = Set(addresses.map { $0.count == 4 ? DNSRecord.Kind.a : .aaaa })
    return [
      DNSRecord(
        name: name, contents: .nsec([.txt, .srv]), timeToLive: ServiceNames.otherTimeToLive, isUnique: true),
      DNSRecord(
        name: host, contents: .nsec(kinds.sorted { $0.rawValue < $1.rawValue }),
        timeToLive: ServiceNames.hostTimeToLive, isUnique: true),
    ]
  }
}
