/// Schedules the answers to questions about one service on one interface (RFC 6762, 6 to 8 and 10).
///
/// The instance's label is random, so it is used without probing.
struct Responder {
  /// A message to send.
  struct Answer: Equatable {
    var message: DNSMessage
    /// The only receiver; `nil` for everybody.
    var receiver: DatagramSource?
  }

  private struct Waiting {
    var due: Duration
    var records: [DNSRecord]
    /// The sender of the question, whose known answers are left out; `nil` for announcements.
    var asker: DatagramSource?
    /// Whether only the sender of the question is answered.
    var isAlone = false
  }

  /// The delay of an answer.
  ///
  /// It is random, so that answers of many do not come at once.
  private static let delay = Duration.milliseconds(20)...Duration.milliseconds(120)
  private static let noDelay = Duration.zero...Duration.zero
  /// The delay after a question whose known answers continue in further packets.
  private static let truncatedDelay = Duration.milliseconds(400)...Duration.milliseconds(500)
  /// The shortest time between two multicasts of a record.
  private static let rest = Duration.seconds(1)
  /// When a new record is announced.
  private static let announcements: [Duration] = [.zero, .seconds(1), .seconds(3)]
  /// How long a plain resolver may keep an answer, in seconds.
  private static let resolverTimeToLive: UInt32 = 10

  private var service: Service
  private var records: [DNSRecord]
  private let random: @Sendable () -> Double
  private var waiting: [Waiting] = []
  /// Records that were sent less than a second ago and must be sent again, with the time for that.
  private var deferred: [DNSRecord: Duration] = [:]
  /// When each record was last multicast.
  private var sentAt: [DNSRecord: Duration] = [:]
  /// The answers to plain resolvers, which are sent at once.
  private var resolved: [Answer] = []
  private var allowance = RateLimiter<[UInt8]>(
    atOnce: DiscoveryLimits.answersPerSecond, perSecond: DiscoveryLimits.answersPerSecond,
    entries: DiscoveryLimits.sources)

  /// Prepares to advertise a service, which is announced at once.
  ///
  /// - Parameters:
  ///   - service: The service.
  ///   - now: The time.
  ///   - random: Numbers from 0 to 1, which spread answers.
  init(_ service: Service, now: Duration, random: @escaping @Sendable () -> Double) {
    self.service = service
    self.random = random
    records = service.records
    announce(records, now: now)
  }

  /// When something must be sent next.
  var next: Duration? { [waiting.map(\.due).min(), deferred.values.min()].compactMap(\.self).min() }

  /// Announces all records again, since somebody may have missed them.
  mutating func announceAgain(now: Duration) { announce(records, now: now) }

  /// Advertises another service from now on: sends goodbyes for old records, and announces new ones.
  mutating func change(to service: Service, now: Duration) {
    guard service != self.service else { return }
    let (old, new) = (records, service.records)
    (self.service, records) = (service, new)
    let gone = old.filter { !new.contains($0) }
    waiting = waiting.compactMap { waiting in
      var waiting = waiting
      waiting.records.removeAll { gone.contains($0) }
      return waiting.records.isEmpty ? nil : waiting
    }
    for record in gone { (deferred[record], sentAt[record]) = (nil, nil) }
    // A unique record itself replaces others of its name and type.
    let replaced = gone.filter { record in
      record.isUnique && new.contains { $0.name == record.name && $0.kind == record.kind }
    }
    let goodbyes = gone.filter { !replaced.contains($0) }.map(\.goodbye)
    if !goodbyes.isEmpty { waiting.append(Waiting(due: now, records: goodbyes)) }
    // Old addresses that are still valid are sent with a new one. Otherwise the new one would seem to replace
    // them.
    let changed = new.filter { record in
      !old.contains(record)
        || replaced.contains { $0.name == record.name && $0.kind == record.kind }
        || new.contains { $0.name == record.name && $0.kind == record.kind && !old.contains($0) }
    }
    announce(changed, now: now)
  }

  /// The last message: a goodbye for all records.
  var goodbye: DNSMessage {
    // Others have the same entry in the list of services.
    .response(records.filter { $0.name != ServiceNames.allServices }.map(\.goodbye))
  }

  private mutating func announce(_ records: [DNSRecord], now: Duration) {
    let own = records.filter { $0.name != ServiceNames.allServices }
    guard !own.isEmpty else { return }
    waiting.removeAll { $0.asker == nil && $0.records == own && $0.due > now }
    waiting += Self.announcements.map { Waiting(due: now + $0, records: own) }
  }

  // MARK: - Questions

  /// Takes a message that arrived.
  mutating func receive(_ message: DNSMessage, from source: DatagramSource, now: Duration) {
    guard !message.isResponse else { return leaveOut(message) }
    guard !message.questions.isEmpty else {
      // More known answers of a host that has asked before.
      for place in waiting.indices where waiting[place].asker == source {
        waiting[place].records.removeAll { Self.isKnown($0, message) }
      }
      return waiting.removeAll { $0.records.isEmpty }
    }
    guard message.questions.contains(where: { isOwn($0.name) }),
      allowance.take(source.address, at: now) == nil
    else { return }
    let questions = message.questions.prefix(DiscoveryLimits.questions)
    let matches = questions.map { ($0, answers(to: $0).filter { !Self.isKnown($0, message) }) }
    guard matches.contains(where: { !$0.1.isEmpty }) else { return }
    let isResolver = source.port != DatagramSource.multicastPort
    var (everybody, alone): ([DNSRecord], [DNSRecord]) = ([], [])
    for (question, records) in matches {
      for record in records {
        if isResolver || question.wantsUnicast && isFresh(record, now) {
          if !alone.contains(record) { alone.append(record) }
        } else if !everybody.contains(record) {
          everybody.append(record)
        }
      }
    }
    // Only records that nobody else can answer with are sent at once.
    let isShared = everybody.contains { !$0.isUnique }
    let bounds = message.isTruncated ? Self.truncatedDelay : isShared ? Self.delay : Self.noDelay
    let delay = bounds.lowerBound + (bounds.upperBound - bounds.lowerBound) * random()
    wait(Waiting(due: now + delay, records: everybody, asker: source))
    if isResolver {
      resolve(message, alone, source)
    } else {
      wait(Waiting(due: now, records: alone, asker: source, isAlone: true))
    }
  }

  /// Answers a plain resolver as a unicast DNS server would (RFC 6762, 6.7).
  private mutating func resolve(_ question: DNSMessage, _ records: [DNSRecord], _ source: DatagramSource) {
    guard resolved.count < DiscoveryLimits.waitingAnswers else { return }
    func plain(_ record: DNSRecord) -> DNSRecord {
      var record = record
      record.isUnique = false
      record.timeToLive = min(record.timeToLive, Self.resolverTimeToLive)
      return record
    }
    var message = response(records)
    message.id = question.id
    message.questions = question.questions.map { DNSMessage.Question(name: $0.name, kind: $0.kind) }
    message.answers = message.answers.map(plain)
    message.additional = message.additional.map(plain)
    resolved.append(Answer(message: message, receiver: source))
  }

  private mutating func wait(_ answer: Waiting) {
    guard !answer.records.isEmpty, waiting.count < DiscoveryLimits.waitingAnswers else { return }
    waiting.append(answer)
  }

  /// Whether there are records of a name.
  private func isOwn(_ name: DNSName) -> Bool { records.contains { $0.name == name } }

  private func answers(to question: DNSMessage.Question) -> [DNSRecord] {
    let found = records.filter {
      $0.name == question.name && (question.kind == $0.kind || question.kind == .any)
    }
    guard found.isEmpty else { return found }
    return service.denials.filter { $0.name == question.name }
  }

  /// Whether the sender of the message already has a record, for at least half its time to live.
  private static func isKnown(_ record: DNSRecord, _ message: DNSMessage) -> Bool {
    message.answers.contains { $0.says(whatIsSaidBy: record) && $0.timeToLive >= record.timeToLive / 2 }
  }

  /// Whether a record was multicast recently.
  private func isFresh(_ record: DNSRecord, _ now: Duration) -> Bool {
    sentAt[record].map { now - $0 < .seconds(Int64(record.timeToLive)) / 4 } ?? false
  }

  /// Leaves out records that another host has just multicast (RFC 6762, 7.4).
  private mutating func leaveOut(_ message: DNSMessage) {
    func isSaid(_ record: DNSRecord) -> Bool {
      !record.isUnique
        && message.answers.contains { $0.says(whatIsSaidBy: record) && $0.timeToLive >= record.timeToLive }
    }
    for place in waiting.indices where waiting[place].asker != nil && !waiting[place].isAlone {
      waiting[place].records.removeAll(where: isSaid)
    }
    waiting.removeAll { $0.records.isEmpty }
  }

  // MARK: - Answers

  /// Takes the answers that are due.
  mutating func takeDue(now: Duration) -> [Answer] {
    var answers = resolved
    resolved = []
    let due = waiting.filter { $0.due <= now }
    waiting.removeAll { $0.due <= now }
    var everybody = deferred.filter { $0.value <= now }.map(\.key)
    for record in everybody { deferred[record] = nil }
    for answer in due {
      if answer.isAlone, let asker = answer.asker {
        answers.append(Answer(message: response(answer.records), receiver: asker))
      } else {
        everybody += answer.records.filter { !everybody.contains($0) }
      }
    }
    let sent = everybody.filter { record in
      guard record.timeToLive > 0, let last = sentAt[record], now - last < Self.rest else { return true }
      deferred[record] = last + Self.rest
      return false
    }
    guard !sent.isEmpty else { return answers }
    for record in sent where record.timeToLive > 0 { sentAt[record] = now }
    return answers + [Answer(message: response(inOrder(sent)))]
  }

  /// The records in the order of ``records``, independent of the order of questions.
  private func inOrder(_ sent: [DNSRecord]) -> [DNSRecord] {
    records.filter(sent.contains) + sent.filter { !records.contains($0) }
  }

  /// An answer, with the additional records that its receiver will ask for next.
  private func response(_ answers: [DNSRecord]) -> DNSMessage {
    var names: Set<DNSName> = []
    for answer in answers {
      if case .ptr(let target) = answer.contents { names.insert(target) }
    }
    if let name = service.name, let host = service.host,
      names.contains(name) || answers.contains(where: { $0.name == name && $0.kind == .srv })
    {
      names.insert(host)
    }
    // A host with addresses of one kind only says so before somebody asks for others.
    let following = records + service.denials.filter { $0.name == service.host }
    let additional = following.filter { names.contains($0.name) && !answers.contains($0) && $0.isUnique }
    return .response(answers, additional: answers.allSatisfy { $0.timeToLive == 0 } ? [] : additional)
  }
}
