/// Finds peers on one interface: it schedules questions and keeps answers (RFC 6762, 5 and 10; RFC 6763, 4).
///
/// Everything found is a hint, and may come from anybody.
struct Browser {
  /// A peer that may be reachable.
  struct Found: Hashable, Sendable {
    let instance: String
    let port: UInt16
    /// Addresses of 4 or 16 bytes.
    let addresses: [[UInt8]]
  }

  /// A change of what is known.
  enum Event: Equatable {
    case found(Found)
    case lost(String)
  }

  /// How much may still be stored.
  struct Room {
    var candidates = DiscoveryLimits.candidates
    var bytes = DiscoveryLimits.candidateBytes
  }

  private struct Instance {
    /// The requested name that it is listed under.
    var pointer: Held<DNSName>
    var place: Held<Place>?
    var told: Found?
    /// When missing records are requested; then less and less often.
    var asksAt: Duration
    var askPause = Browser.firstPause

    func isDue(_ now: Duration) -> Bool {
      pointer.next <= now || place.map { $0.next <= now } ?? false || told == nil && asksAt <= now
    }
  }

  private struct Place: Hashable {
    let host: DNSName
    let port: UInt16
  }

  /// A host, kept for as long as an instance names it.
  private struct Host {
    var instances: Set<String> = []
    var addresses: [Held<[UInt8]>] = []
  }

  /// The delay of the first question.
  ///
  /// It is random, so that peers that start together do not ask together.
  private static let firstQuestion = Duration.milliseconds(20)...Duration.milliseconds(120)
  private static let firstPause = Duration.seconds(1)
  /// The longest time between two questions.
  private static let longestPause = Duration.seconds(3_600)
  /// The shortest time between two questions.
  private static let rest = Duration.seconds(1)
  /// How long to wait for missing records of an instance before asking for them.
  private static let missingDelay = Duration.milliseconds(100)
  /// How long a record is kept after a goodbye, in case another host says that it is still valid.
  private static let goodbyeDelay = Duration.seconds(1)
  /// The maximum size of a host's name in bytes.
  ///
  /// Longer ones are ignored, since they cost memory.
  private static let hostBytes = 80
  /// The memory of an instance besides its names, and of an address besides its bytes.
  private static let overhead = (instance: 64, address: 32)

  /// The names under which peers of this application are listed: the tags of today, yesterday and tomorrow.
  private(set) var names: [DNSName]
  private var instances: [String: Instance] = [:]
  private var hosts: [DNSName: Host] = [:]
  /// The approximate memory of all that is stored, in bytes.
  private(set) var byteCount = 0
  /// The instances that have changed since the last report.
  private var changed: Set<String> = []
  private var nextQuestion: Duration
  private var pause = Browser.firstPause
  /// Until when questions are not repeated, whatever time to live others claim (RFC 6762, 5.2).
  ///
  /// The first time is for questions who is there, the second for questions where they are.
  private var (namesRestUntil, othersRestUntil) = (Duration.zero, Duration.zero)
  private let random: @Sendable () -> Double

  /// Starts to ask, after a moment.
  ///
  /// - Parameters:
  ///   - names: The names to ask for.
  ///   - now: The time.
  ///   - random: Numbers from 0 to 1, which spread questions.
  init(_ names: [DNSName], now: Duration, random: @escaping @Sendable () -> Double) {
    self.names = names
    self.random = random
    let bounds = Self.firstQuestion
    nextQuestion = now + bounds.lowerBound + (bounds.upperBound - bounds.lowerBound) * random()
  }

  /// The number of stored instances.
  var count: Int { instances.count }

  /// When a question is due or a record expires next.
  var next: Duration {
    var (first, others) = (nextQuestion, Duration.seconds(1 << 40))
    for instance in instances.values {
      first = min(first, instance.pointer.next)
      if let place = instance.place { others = min(others, place.next) }
      if instance.told == nil { others = min(others, instance.asksAt) }
    }
    for host in hosts.values {
      for address in host.addresses { others = min(others, address.next) }
    }
    return min(max(first, namesRestUntil), max(others, othersRestUntil))
  }

  /// Asks at once, and often for a while, since the network may have changed.
  mutating func askAgain(now: Duration) {
    nextQuestion = min(nextQuestion, now + Self.firstQuestion.lowerBound)
    pause = Self.firstPause
    namesRestUntil = .zero
  }

  /// Asks for other names from now on; drops instances that are listed under none of them.
  mutating func change(to names: [DNSName], now: Duration) -> [Event] {
    guard names != self.names else { return [] }
    self.names = names
    askAgain(now: now)
    for (label, instance) in instances where !names.contains(instance.pointer.value) {
      instances[label]?.pointer.end(by: now)
    }
    return forget(now) + tell()
  }

  // MARK: - Questions

  /// Takes the questions that are due, and the instances that are lost.
  mutating func takeDue(now: Duration) -> (messages: [DNSMessage], events: [Event]) {
    guard next <= now else { return ([], []) }
    let events = forget(now) + tell()
    var (asked, rest): (Set<DNSName>, Set<DNSMessage.Question>) = ([], [])
    let (mayAskNames, mayAskOthers) = (namesRestUntil <= now, othersRestUntil <= now)
    if now >= nextQuestion, mayAskNames {
      asked.formUnion(names)
      nextQuestion = now + pause
      pause = min(pause * 2, Self.longestPause)
    }
    for (label, instance) in instances where instance.isDue(now) {
      guard let name = ServiceNames.service.prefixed(by: label) else { continue }
      if mayAskNames, instances[label]?.pointer.takeRefresh(now) == true {
        asked.insert(instance.pointer.value)
      }
      guard mayAskOthers else { continue }
      if instances[label]?.place?.takeRefresh(now) == true { rest.insert(.init(name: name, kind: .srv)) }
      guard instance.told == nil, instance.asksAt <= now else { continue }
      instances[label]?.asksAt = now + instance.askPause
      instances[label]?.askPause = min(instance.askPause * 2, Self.longestPause)
      if let host = instance.place?.value.host {
        rest.formUnion([.init(name: host, kind: .a), .init(name: host, kind: .aaaa)])
      } else {
        rest.insert(.init(name: name, kind: .srv))
      }
    }
    for (name, host) in hosts where mayAskOthers {
      for (place, held) in host.addresses.enumerated() where held.next <= now {
        guard hosts[name]?.addresses[place].takeRefresh(now) == true else { continue }
        rest.insert(.init(name: name, kind: held.value.count == 4 ? .a : .aaaa))
      }
    }
    if !asked.isEmpty { namesRestUntil = now + Self.rest }
    if !rest.isEmpty { othersRestUntil = now + Self.rest }
    return (messages(asked, rest, now), events)
  }

  private func messages(
    _ asked: Set<DNSName>, _ rest: Set<DNSMessage.Question>, _ now: Duration
  ) -> [DNSMessage] {
    var messages: [DNSMessage] = []
    if !asked.isEmpty {
      var message = DNSMessage()
      message.questions = names.filter(asked.contains).map { .init(name: $0, kind: .ptr) }
      message.answers = instances.sorted { $0.key < $1.key }.compactMap { label, instance in
        // Others need not send a record of which this peer has a fresh copy.
        guard asked.contains(instance.pointer.value), instance.pointer.isFresh(now),
          let name = ServiceNames.service.prefixed(by: label)
        else { return nil }
        return DNSRecord(
          name: instance.pointer.value, contents: .ptr(name),
          timeToLive: UInt32(clamping: (instance.pointer.until - now).components.seconds))
      }
      messages.append(message)
    }
    if !rest.isEmpty {
      var message = DNSMessage()
      message.questions = rest.sorted {
        ($0.name.description, $0.kind.rawValue) < ($1.name.description, $1.kind.rawValue)
      }
      messages.append(message)
    }
    return messages
  }

  // MARK: - Answers

  /// Takes the answers in a message.
  ///
  /// - Parameters:
  ///   - message: The message.
  ///   - own: This peer's own instance, which is ignored.
  ///   - room: How much may be stored.
  ///   - now: The time.
  /// - Returns: The changes.
  mutating func receive(_ message: DNSMessage, own: String, room: Room, now: Duration) -> [Event] {
    guard message.isResponse else { return [] }
    // The records of an answer come in any order, and later ones depend on earlier ones.
    let records = message.answers + message.additional
    for record in records {
      if case .ptr(let target) = record.contents { take(record, target, own, room, now) }
    }
    for record in records {
      if case .srv(let host, let port) = record.contents {
        take(record, Place(host: host, port: port), room, now)
      }
    }
    for record in records {
      switch record.contents {
      case .a(let address), .aaaa(let address): take(record, address, room, now)
      case .ptr, .srv, .txt, .nsec, .other: break
      }
    }
    return tell()
  }

  private mutating func take(
    _ record: DNSRecord, _ target: DNSName, _ own: String, _ room: Room, _ now: Duration
  ) {
    guard names.contains(record.name), let label = Self.label(of: target), label != own else { return }
    if let known = instances[label] {
      // A goodbye counts only for the name that it names.
      guard record.timeToLive > 0 || known.pointer.value == record.name else { return }
      let pointer = held(record.name, record, now)
      instances[label]?.pointer = pointer
    } else if record.timeToLive > 0, count < room.candidates, byteCount < room.bytes {
      instances[label] = Instance(pointer: held(record.name, record, now), asksAt: now + Self.missingDelay)
      byteCount += Self.overhead.instance + label.utf8.count
    }
  }

  private mutating func take(_ record: DNSRecord, _ place: Place, _ room: Room, _ now: Duration) {
    guard let label = Self.label(of: record.name), let instance = instances[label], place.port > 0,
      place.host.byteCount <= Self.hostBytes,
      instance.place?.value.host == place.host || byteCount < room.bytes
    else { return }
    set(held(place, record, now), of: label)
  }

  private mutating func take(_ record: DNSRecord, _ address: [UInt8], _ room: Room, _ now: Duration) {
    // Addresses of hosts that no instance names are useless.
    guard var host = hosts[record.name] else { return }
    if record.isUnique, record.timeToLive > 0 {
      // All others of its name and type that came more than a second ago are no longer valid.
      for place in host.addresses.indices
      where now - host.addresses[place].since > Self.goodbyeDelay
        && host.addresses[place].value.count == address.count
      {
        host.addresses[place].end(by: now + Self.goodbyeDelay)
      }
    }
    if let place = host.addresses.firstIndex(where: { $0.value == address }) {
      host.addresses[place] = held(address, record, now)
    } else if record.timeToLive > 0, host.addresses.count < DiscoveryLimits.addresses, byteCount < room.bytes
    {
      host.addresses.append(held(address, record, now))
      byteCount += Self.overhead.address + address.count
      changed.formUnion(host.instances)
    }
    hosts[record.name] = host
  }

  private func held<Value>(_ value: Value, _ record: DNSRecord, _ now: Duration) -> Held<Value> {
    guard record.timeToLive > 0 else {
      var held = Held(value, for: Self.goodbyeDelay, now: now, jitter: 0)
      held.end(by: held.until)
      return held
    }
    return Held(value, for: .seconds(Int64(record.timeToLive)), now: now, jitter: random())
  }

  /// The label of an instance of the service; `nil` for other names, and for labels that no peer uses.
  private static func label(of name: DNSName) -> String? {
    guard name.parent == ServiceNames.service, let label = name.labels.first, label.allSatisfy(\.isPlain)
    else { return nil }
    return String(decoding: label.map(\.lowercased), as: UTF8.self)
  }

  // MARK: - What is known

  /// Sets where an instance is; `nil` for unknown.
  private mutating func set(_ place: Held<Place>?, of label: String) {
    let old = instances[label]?.place?.value
    instances[label]?.place = place
    guard old != place?.value else { return }
    changed.insert(label)
    if let new = place?.value.host, new != old?.host {
      hosts[new, default: Host()].instances.insert(label)
      byteCount += new.byteCount
    }
    if let old = old?.host, old != place?.value.host {
      hosts[old]?.instances.remove(label)
      byteCount -= old.byteCount
      guard let host = hosts[old], host.instances.isEmpty else { return }
      for address in host.addresses { byteCount -= Self.overhead.address + address.value.count }
      hosts[old] = nil
    }
  }

  private mutating func forget(_ now: Duration) -> [Event] {
    var events: [Event] = []
    for (label, instance) in instances {
      if instance.pointer.until <= now {
        set(nil, of: label)
        instances[label] = nil
        byteCount -= Self.overhead.instance + label.utf8.count
        if instance.told != nil { events.append(.lost(label)) }
      } else if let place = instance.place, place.until <= now {
        set(nil, of: label)
      }
    }
    for (name, host) in hosts {
      let left = host.addresses.filter { $0.until > now }
      guard left.count < host.addresses.count else { continue }
      hosts[name]?.addresses = left
      for address in host.addresses where address.until <= now {
        byteCount -= Self.overhead.address + address.value.count
      }
      changed.formUnion(host.instances)
    }
    return events
  }

  /// The changes since the last report.
  private mutating func tell() -> [Event] {
    var events: [Event] = []
    for label in changed.sorted() {
      guard let instance = instances[label] else { continue }
      let found = found(label, instance)
      guard found != instance.told else { continue }
      instances[label]?.told = found
      events.append(found.map { .found($0) } ?? .lost(label))
    }
    changed = []
    return events
  }

  private func found(_ label: String, _ instance: Instance) -> Found? {
    guard let place = instance.place?.value, let host = hosts[place.host], !host.addresses.isEmpty else {
      return nil
    }
    return Found(
      instance: label, port: place.port,
      addresses: host.addresses.map(\.value).sorted { a, b in
        a.count == b.count ? a.lexicographicallyPrecedes(b) : a.count < b.count
      })
  }
}
