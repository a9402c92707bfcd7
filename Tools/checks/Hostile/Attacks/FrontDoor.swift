#if Server
  import PeerControl

  /// Attacks on a big peer's listeners for HTTP, without a key.
  enum FrontDoor {
    /// Milliseconds that an honest request with a key, or a probe, may wait in the midst of an attack.
    private static let honestWait = 5_000.0

    /// Idle connections that take all places, again and again: the API was closed to others for 28 s.
    static let idle = Row(
      "idle-http",
      "1,100 idle connections from 11 addresses to the API, and 100 to the administrator's listener",
      aims: .frontDoor, setup: Scene.Setup(isBigPeer: true)
    ) { scene in
      let http = try await HTTPTarget(scene)
      return { scene in
        async let crowd: Void = scene.hostile { target in
          while !target.isOver {
            var open: [HTTPAttacker] = []
            for number in 0..<1_200 where !target.isOver {
              let port = number < 1_100 ? http.port : http.adminPort
              if let connection = HTTPAttacker(port: port, from: 10 + number % 11) { open.append(connection) }
            }
            target.pause(.seconds(2))
            withExtendedLifetime(open) {}
          }
        }
        try await probe(http, scene)
        await crowd
      }
    }

    /// Heads that are refused, one connection for each.
    static let heads = Row(
      "http-heads", "heads that RFC 9112 does not allow, on a connection each, eight at a time",
      aims: .frontDoor, setup: Scene.Setup(isBigPeer: true)
    ) { scene in
      let http = try await HTTPTarget(scene)
      let heads = [
        "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", "\0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n",
      ]
      return { scene in
        async let crowd: Void = scene.hostile { target in
          target.lanes(8) { lane in
            var number = lane
            while !target.isOver {
              number += 1
              guard let connection = HTTPAttacker(port: http.port, from: 10 + lane) else { continue }
              target.didSend(connection.send(heads[number % heads.count]))
              _ = connection.receive(within: .milliseconds(500))
            }
          }
        }
        try await probe(http, scene)
        await crowd
      }
    }

    /// Asks honestly until the row is over, and records a fault if there is no answer in time.
    private static func probe(_ http: HTTPTarget, _ scene: Scene) async throws {
      while !scene.isOver {
        await scene.hostile { _ in
          for (path, isAdmin) in [("/api/v4/history", false), ("/healthz", true)] {
            guard let wait = http.wait(for: path, isAdmin: isAdmin), wait < honestWait else {
              scene.fail("\(path) is not answered in time")
              continue
            }
          }
        }
        try await Task.sleep(for: .milliseconds(200))
      }
    }
  }
#endif
