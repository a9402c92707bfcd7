// with: Modules/Links/Discovery/DNS
import Glibc

/// Any bytes as a packet of multicast DNS: what is read is written and read again as it was.
enum Target {
  static let seeds: [[UInt8]] = {
    let name = DNSName(known: "abc", "_dunlin", "_tcp", "local")
    let service = DNSName(known: "_dunlin", "_tcp", "local")
    let records = [
      DNSRecord(name: service, contents: .ptr(name), timeToLive: 4_500),
      DNSRecord(
        name: name, contents: .srv(host: DNSName(known: "abc", "local"), port: 4_040), timeToLive: 120,
        isUnique: true),
      DNSRecord(name: name, contents: .txt([[1, 2], []]), timeToLive: 4_500, isUnique: true),
      DNSRecord(name: name, contents: .nsec([.srv, .txt]), timeToLive: 4_500, isUnique: true),
    ]
    var question = DNSMessage()
    question.questions = [.init(name: service, kind: .ptr, wantsUnicast: true)]
    question.answers = [records[0]]
    return [DNSMessage.response(records, additional: records).bytes, question.bytes]
  }()

  static func run(_ input: [UInt8]) {
    guard let message = DNSMessage(input) else { return }
    precondition(message.questions.count + message.answers.count <= DNSMessage.recordLimit)
    let again = message.packets(within: .max).compactMap { DNSMessage($0) }
    // Without compression the hosts of ports may make a message longer than may be read.
    guard message.bytes.count <= DNSMessage.byteLimit else { return }
    precondition(again.count == 1 && again[0].answers == message.answers, "other answers")
    precondition(again[0].questions == message.questions, "other questions")
    for packet in message.packets(within: 512) {
      precondition(packet.count <= DNSMessage.byteLimit + 512)
    }
  }
}
