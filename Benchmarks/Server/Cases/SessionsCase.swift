#if Server
  import BenchmarkSupport
  import Foundation

  /// Many devices at one server: memory of an idle session, the time of a write, and a restart of the server.
  ///
  /// The time of a write ends when all other devices have it.
  struct SessionsCase {
    let devices: Int
    /// Documents written one after another, each once all devices have the one before.
    let writes: Int
    let isShort: Bool

    /// Documents that all have before anything is measured.
    private static let documents = 100
    private static let processes = 4
    /// For so long the server is away.
    private static let outage = 2.0

    func run(_ report: inout Report, _ places: Places) throws {
      let server = try BigPeerProcess(places)
      let corpus = try Corpus.orders(Self.documents, in: places.server)
      // One that comes and stays first takes what all share, and brings the documents.
      let source = try Crowds(1, processes: 1, of: server, places, name: "source")
      try source.ask(.load(path: corpus.path))
      try source.ask(.connect)
      _ = try source.times(.waitForConnections(1))
      let crowds = try Crowds(devices, processes: Self.processes, of: server, places, name: "device")
      let rest = isShort ? 1.0 : 12
      Thread.sleep(forTimeInterval: rest)
      let before = try server.state()
      try join(crowds, &report)
      let joined = try server.state()
      // After ten seconds sessions ping, and free their compressors.
      Thread.sleep(forTimeInterval: rest)
      let after = try server.state()
      let count = Double(devices)
      report.add(
        "\(words): the server's CPU for a session at rest, in a second",
        (try after.figure("cpuSeconds") - joined.figure("cpuSeconds")) / count / rest, .seconds)
      report.add(
        "\(words): the server's memory for a session at rest",
        max(0, try after.figure("heldBytes") - before.figure("heldBytes")) / count, .bytes)
      report.add(
        "\(words): the server's CPU for a device that joins",
        (try joined.figure("cpuSeconds") - before.figure("cpuSeconds")) / count, .seconds)
      var changes = Self.documents
      try write(crowds, server, &changes, &report)
      try restart(server, source, crowds, &changes, &report, places)
    }

    private var words: String { "\(devices.grouped) devices" }

    private func join(_ crowds: Crowds, _ report: inout Report) throws {
      let start = Measures.nanoseconds
      try crowds.ask(.connect)
      let connected = try crowds.times(.waitForConnections(1))
      let synced = try crowds.times(.wait(changes: Self.documents))
      report.add(
        "\(words) join at once: until all are connected", ((connected.last ?? 0) - start) / 1e9, .seconds)
      report.add("\(words) join at once: until all are in sync", ((synced.last ?? 0) - start) / 1e9, .seconds)
      report.add(
        "\(words) join at once: connections turned away, each",
        try crowds.sum("turnedAway") / Double(devices),
        .times)
    }

    private func write(
      _ crowds: Crowds, _ server: BigPeerProcess, _ changes: inout Int, _ report: inout Report
    ) throws {
      let before = try server.state()
      var half: [Double] = []
      var all: [Double] = []
      for number in 0..<writes {
        let start = try crowds.first.ask(.write(id: "write-\(number)")).times.first ?? 0
        changes += 1
        let times = try crowds.times(.wait(changes: changes))
        half.append((times[times.count / 2] - start) / 1e9)
        all.append(((times.last ?? 0) - start) / 1e9)
      }
      let after = try server.state()
      let title = "a write at one of \(words)"
      report.add("\(title): until half of the others hold it, p50", half.median, .seconds)
      report.add("\(title): until all others hold it, p50", all.median, .seconds)
      report.add("\(title): until all others hold it, worst of \(writes)", all.max() ?? 0, .seconds)
      report.add(
        "\(title): the server's CPU for each of the others",
        (try after.figure("cpuSeconds") - before.figure("cpuSeconds")) / Double(writes * devices), .seconds)
    }

    /// Ends the server, has a device write meanwhile, and starts it again on its port.
    private func restart(
      _ server: BigPeerProcess, _ source: Crowds, _ crowds: Crowds, _ changes: inout Int,
      _ report: inout Report, _ places: Places
    ) throws {
      let turnedAway = try crowds.sum("turnedAway")
      try server.child.quit()
      try crowds.first.ask(.write(id: "while-the-server-was-away"))
      changes += 1
      Thread.sleep(forTimeInterval: Self.outage)
      let again = try BigPeerProcess(places, port: server.port)
      let connected = try crowds.times(.waitForConnections(2))
      let synced = try crowds.times(.wait(changes: changes))
      let title = "a restart of the server of \(words)"
      func seconds(_ time: Double) -> Double { max(0, time - again.startedAt) / 1e9 }
      report.add(
        "\(title): until half of them are connected", seconds(connected[connected.count / 2]), .seconds)
      report.add("\(title): until all are connected", seconds(connected.last ?? 0), .seconds)
      report.add("\(title): until all are in sync", seconds(synced.last ?? 0), .seconds)
      report.add(
        "\(title): most connections that were made in a second",
        Double(Self.most(of: connected, within: 1e9)),
        .perSecond)
      report.add(
        "\(title): connections turned away, each",
        (try crowds.sum("turnedAway") - turnedAway) / Double(devices), .times)
      report.add(
        "\(title): the server's CPU for a device that comes back",
        try again.state().figure("cpuSeconds") / Double(devices), .seconds)
      for crowds in [crowds, source] { try crowds.quit() }
      try again.child.quit()
    }

    /// How many of rising times lie within a span, at most.
    private static func most(of times: [Double], within span: Double) -> Int {
      var first = 0
      var most = 0
      for (index, time) in times.enumerated() {
        while time - times[first] > span { first += 1 }
        most = max(most, index - first + 1)
      }
      return most
    }
  }
#endif
