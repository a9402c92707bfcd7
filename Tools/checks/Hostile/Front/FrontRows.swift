import CRDTCore
import Foundation

/// All rows that attack the HTTP API.
enum FrontRows {
  static let all = [idle, pipelined, unreadRows, unreadBodies, names, arguments, keptAnswers]

  /// Nobody attacks, so nothing may be missed.
  private static let idle = FrontRow(
    name: "front-idle", summary: "nothing", aims: aims(), right: "read", documents: 0, limits: [:],
    unbounded: nil
  ) { $0.target.pause(.seconds(2)) }

  /// Those of a key: what it may have in memory, and the little that its connections take.
  private static func aims(memoryWhile: Int = 32 << 20, memoryAfter: Int = 8 << 20) -> Aims {
    Aims(memoryWhile: memoryWhile, memoryAfter: memoryAfter)
  }

  /// Two requests of a connection are decoded, however many are sent.
  private static let pipelined = FrontRow(
    name: "front-pipelined",
    summary: "requests without a key that are sent ahead, and nobody reads answers (they took 818 MiB)",
    aims: aims(), right: "read", documents: 1, limits: [:], unbounded: nil
  ) { scene in
    let request = "GET /api/v4/nothing HTTP/1.1\r\nHost: a\r\n\r\n"
    let requests = Array(String(repeating: request, count: 1_000).utf8)
    scene.target.lanes(60) { _ in
      let socket = RawSocket(port: scene.target.port, seconds: 1)
      while !scene.target.isOver, let socket { scene.target.didSend(socket.write(requests)) }
    }
  }

  /// A key has 24 MiB of answers, and makes one large row at a time, as values and as JSON.
  private static let unreadRows = FrontRow(
    name: "front-rows",
    summary: "16 answers with rows of 8 MB that nobody reads (with rows of 30 MB they took 2.7 GiB)",
    aims: aims(memoryWhile: 48 << 20), right: "read", documents: 100, limits: [:],
    unbounded: nil
  ) { scene in
    let body = "{\"statement\":\"SELECT repeat('x', 8000000) AS x FROM things\"}"
    let request = FrontVictim.request(token: scene.key, body)
    let sockets = (0..<16).compactMap { _ in RawSocket(port: scene.target.port) }
    for socket in sockets { scene.target.didSend(socket.write(request)) }
    wait(scene)
    withExtendedLifetime(sockets) {}
  }

  /// A key has 32 MiB of bodies, and 24 MiB of answers.
  private static let unreadBodies = FrontRow(
    name: "front-bodies",
    summary: "60 bodies of 7.9 MB, and their answers, which nobody reads (they took 601 MiB)",
    aims: aims(memoryWhile: 64 << 20), right: "read", documents: 1, limits: [:],
    unbounded: ["allBodies": .string("8 GiB"), "allAnswers": .string("8 GiB")]
  ) { scene in
    let text = String(repeating: "x", count: 7_900_000)
    let request = FrontVictim.request(
      token: scene.key, "{\"statement\":\"SELECT :a AS a FROM things\",\"args\":{\"a\":\"\(text)\"}}")
    scene.target.lanes(60) { _ in
      let socket = RawSocket(port: scene.target.port, seconds: 5)
      guard let count = socket?.write(request) else { return }
      // Bytes to this machine's own memory are no measure of an attack's size here.
      _ = count
      wait(scene)
      withExtendedLifetime(socket) {}
    }
  }

  private static let names = FrontRow(
    name: "front-names", summary: "bodies of one object with 500,000 names (each took 85 MiB)",
    aims: aims(), right: "read", documents: 1, limits: [:], unbounded: ["allBodies": .string("8 GiB")]
  ) { scene in
    let names = (0..<500_000).map { "\"\($0)\":1" }.joined(separator: ",")
    let request = FrontVictim.request(
      token: scene.key, "{\"statement\":\"SELECT * FROM things\",\"args\":{\"a\":{\(names)}}}")
    scene.target.lanes(4) { _ in
      while !scene.target.isOver {
        guard let socket = RawSocket(port: scene.target.port, seconds: 10) else { continue }
        scene.target.didSend(socket.write(request))
        _ = socket.readAnswer()
        scene.target.pause(.milliseconds(50))
      }
    }
  }

  /// Each statement kept its last arguments for as long as its text was among the last 256.
  private static let arguments = FrontRow(
    name: "front-arguments",
    summary: "64 statements, each with an argument of 1 MB (which stayed in memory: 64 MB, up to 2 GB)",
    aims: aims(), right: "read", documents: 1, limits: [:], unbounded: nil
  ) { scene in
    let text = String(repeating: "x", count: 1_000_000)
    guard let socket = RawSocket(port: scene.target.port) else { return scene.fail("no connection") }
    // It goes on until all are sent, however long that takes.
    for number in 0..<64 {
      let body = "{\"statement\":\"SELECT * FROM things WHERE n\(number) = :a\",\"args\":{\"a\":\"\(text)\"}}"
      scene.target.didSend(socket.write(FrontVictim.request(token: scene.key, body)))
      if socket.readAnswer()?.status != 200 { return scene.fail("statement \(number) has no answer") }
    }
  }

  /// A write of 60 bytes whose answer is kept for a day, until there is no room for another one.
  private static let keptAnswers = FrontRow(
    name: "front-kept",
    summary: "writes with an Idempotency-Key and answers of 9 KB (they were kept for a day without a bound)",
    aims: aims(), right: "write", documents: 2_000, limits: ["keptAnswerBytes": .string("1 MiB")],
    unbounded: nil
  ) { scene in
    let body = "{\"statement\":\"UPDATE things APPLY n PN_INCREMENT BY 1\"}"
    guard let socket = RawSocket(port: scene.target.port) else { return scene.fail("no connection") }
    func send(_ number: Int) -> RawSocket.Answer? {
      let header = "Idempotency-Key: \(number)\r\n"
      scene.target.didSend(socket.write(FrontVictim.request(token: scene.key, body, headers: header)))
      return socket.readAnswer()
    }
    let first = send(0)
    var statuses: [Int] = []
    // It goes on until the bound is there, however long that takes.
    for number in 1...100 where statuses.last != 429 { statuses.append(send(number)?.status ?? 0) }
    if statuses.last != 429 { scene.fail("more is kept than may be: \(statuses.count) answers") }
    if statuses.dropLast().contains(where: { $0 != 200 }) { scene.fail("a write failed: \(statuses)") }
    if send(0)?.body != first?.body { scene.fail("an answer was dropped early") }
  }

  /// Waits until the end of the attack.
  private static func wait(_ scene: FrontRow.Scene) {
    while ContinuousClock.now < scene.target.deadline { scene.target.pause(.milliseconds(100)) }
  }
}
