#if Server
  import BenchmarkSupport
  import Foundation

  /// Many empty devices that get all documents of a server at once.
  struct FirstSyncCase {
    let documents: Int
    let devices: Int

    private static let processes = 4

    func run(_ report: inout Report, _ places: Places) throws {
      let server = try BigPeerProcess(places)
      let corpus = try Corpus.orders(documents, in: places.server)
      let source = try Crowds(1, processes: 1, of: server, places, name: "source")
      try source.ask(.load(path: corpus.path))
      let upload = Measures.nanoseconds
      try source.ask(.connect)
      // What has come to a second device is at the server.
      let witness = try Crowds(1, processes: 1, of: server, places, name: "witness")
      try witness.ask(.connect)
      let uploaded = try witness.times(.wait(changes: documents)).last ?? 0
      let crowds = try Crowds(devices, processes: Self.processes, of: server, places, name: "device")
      let before = try server.state()
      let start = Measures.nanoseconds
      try crowds.ask(.connect)
      let ends = try crowds.times(.wait(changes: documents))
      let after = try server.state()
      let title = "first sync of \(documents.grouped) documents"
      report.add("\(title) from one device to another", (uploaded - upload) / 1e9, .seconds)
      let seconds = ((ends.last ?? 0) - start) / 1e9
      let words = "\(title) to \(devices) devices at once"
      report.add("\(words): until half of them hold all", (ends[ends.count / 2] - start) / 1e9, .seconds)
      report.add("\(words): until all hold all", seconds, .seconds)
      report.add("\(words): documents a second", Double(documents * devices) / seconds, .perSecond)
      report.add(
        "\(words): the server's CPU for a device",
        (try after.figure("cpuSeconds") - before.figure("cpuSeconds")) / Double(devices), .seconds)
      report.add(
        "\(words): the server's memory at its peak, mapped pages included",
        try after.figure("peakResidentBytes"), .bytes)
      for crowds in [crowds, witness, source] { try crowds.quit() }
      try server.child.quit()
    }
  }
#endif
