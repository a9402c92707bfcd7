/// The names by which peers are found on a local network (DNS-SD, RFC 6763).
enum ServiceNames {
  /// All peers of all applications.
  static let service = DNSName(known: "_dunlin", "_tcp", "local")
  /// The list of services that there are.
  static let allServices = DNSName(known: "_services", "_dns-sd", "_udp", "local")

  /// How long a host's address or port holds, in seconds (RFC 6762, 10).
  static let hostTimeToLive: UInt32 = 120
  /// The same of all else.
  static let otherTimeToLive: UInt32 = 4_500

  /// The peers with a tag (a subtype, RFC 6763, 7.1): who looks for these hears of no others.
  static func peers(tagged tag: String) -> DNSName? {
    DNSName([Array("_\(tag)".utf8), Array("_sub".utf8)] + service.labels)
  }
}

/// What a peer advertises on one interface of one network.
struct Service: Hashable, Sendable {
  /// A random label, which is nobody else's.
  var instance: String
  var port: UInt16
  /// By which peers of the same application know it.
  var tag: String
  /// The interface's addresses, of 4 or 16 bytes each.
  var addresses: [[UInt8]]

  /// The instance's name; `nil` where the label is no label.
  var name: DNSName? { ServiceNames.service.prefixed(by: instance) }

  /// The name of this host, which is as random as the instance.
  var host: DNSName? { DNSName([Array(instance.utf8), Array("local".utf8)]) }

  /// The records that say so; none where the label or the tag is no label.
  var records: [DNSRecord] {
    guard let name, let host, let tagged = ServiceNames.peers(tagged: tag) else { return [] }
    let (short, long) = (ServiceNames.hostTimeToLive, ServiceNames.otherTimeToLive)
    return [
      DNSRecord(name: tagged, contents: .ptr(name), timeToLive: long),
      DNSRecord(name: ServiceNames.service, contents: .ptr(name), timeToLive: long),
      DNSRecord(name: ServiceNames.allServices, contents: .ptr(ServiceNames.service), timeToLive: long),
      DNSRecord(name: name, contents: .srv(host: host, port: port), timeToLive: short, isUnique: true),
      // There has to be one, and there is nothing to say.
      DNSRecord(name: name, contents: .txt([[]]), timeToLive: long, isUnique: true),
    ]
      + addresses.map { address in
        DNSRecord(
          name: host, contents: address.count == 4 ? .a(address) : .aaaa(address), timeToLive: short,
          isUnique: true)
      }
  }

  /// The records that say which types of records this peer's own names have, and so that they have no others (RFC 6762, 6.1).
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
