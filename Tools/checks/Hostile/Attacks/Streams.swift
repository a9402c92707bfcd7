#if Server
  import CRDTCore
  import PeerControl

  /// Streams of changes at a big peer.
  enum Streams {
    /// Streams that nobody reads while documents change: it cost 904 MiB, and writes waited 9 s.
    static let unread = Row(
      "unread-streams", "400 streams of changes that nobody reads, while documents of 1 MB change",
      aims: .frontDoor, setup: Scene.Setup(isBigPeer: true)
    ) { scene in
      let http = try await HTTPTarget(scene)
      return { scene in
        async let streams: Void = scene.hostile { target in
          let open = (0..<400).compactMap { number -> HTTPAttacker? in
            guard !target.isOver, let connection = HTTPAttacker(port: http.port, from: 10 + number % 8) else {
              return nil
            }
            // An eighth of them asks for something of its own.
            let query = number % 8 == 0 ? "%20WHERE%20n%20%3E%20-\(number + 2)" : ""
            target.didSend(
              connection.send(
                "GET /api/v4/changes?query=SELECT%20*%20FROM%20things\(query) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(http.keys[number % 4])\r\n\r\n"
              ))
            return connection
          }
          while !target.isOver { target.pause(.milliseconds(100)) }
          withExtendedLifetime(open) {}
        }
        try await Task.sleep(for: .milliseconds(500))
        var number = 0
        while !scene.isOver, number < 60 {
          try await scene.victim.ask(
            "put", ["document": .string("\(number % 4)"), "bytes": .int(Int64(1_000_000 + 24 * number))])
          number += 1
          try await Task.sleep(for: .milliseconds(50))
        }
        await streams
      }
    }
  }
#endif
