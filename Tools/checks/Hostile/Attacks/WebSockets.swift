import CRDTCore
import SyncProtocol

/// Frames of WebSockets that carry little or nothing.
enum WebSockets {
  private static let setup = Scene.Setup(listensForWebSockets: true)

  /// Frames with a mask of zeros.
  private static func frame(_ first: UInt8, _ content: [UInt8] = []) -> [UInt8] {
    [first, 0x80 | UInt8(content.count), 0, 0, 0, 0] + content
  }

  private static func many(_ frame: [UInt8], _ count: Int) -> [UInt8] {
    Array(repeatElement(frame, count: count).joined())
  }

  private static let request = Array(
    """
    GET / HTTP/1.1\r
    Host: victim\r
    Connection: Upgrade\r
    Upgrade: websocket\r
    Sec-WebSocket-Version: 13\r
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
    \r

    """.utf8)

  /// Opens a WebSocket; `nil` where nobody takes the connection.
  private static func open(_ target: Target) -> HostileConnection? {
    guard let connection = HostileConnection(to: target, port: target.webPort) else { return nil }
    connection.send(raw: request)
    return connection
  }

  /// Frames that are no hello, on as many connections as one address may have without one.
  ///
  /// An honest write waited 1.5 to 3.6 s when each frame was a message of its own.
  static let beforeHello = Row(
    "web-socket-frames",
    "16 WebSockets that say no hello: pongs, empty messages, empty fragments and frames of one byte",
    aims: .crowd, setup: setup
  ) { _ in
    let kinds = [
      many(frame(0x8A), 40_000), many(frame(0x82), 40_000), frame(0x02) + many(frame(0x00), 40_000),
      frame(0x02, [1]) + many(frame(0x00, [1]), 35_000),
    ]
    return { scene in
      await scene.hostile { target in
        target.lanes(16) { lane in
          var number = lane
          while !target.isOver {
            number += 1
            guard let connection = open(target) else { continue }
            for _ in 0..<8 where connection.isOpen && !target.isOver {
              connection.send(raw: kinds[number % kinds.count])
            }
            connection.listen(for: .seconds(2))
            if connection.isOpen, !target.isOver { scene.fail("frames before hello are read") }
            connection.reset()
          }
        }
      }
    }
  }

  /// A session whose bytes come one in a frame.
  static let afterHello = Row(
    "web-socket-bytes", "4 sessions over WebSockets whose pings arrive in frames of one byte",
    setup: setup
  ) { _ in
    { scene in
      await scene.hostile { target in
        target.lanes(4) { lane in
          var number = 0
          while !target.isOver {
            number += 1
            guard let connection = open(target) else { continue }
            let site = SiteID(high: 0xBAD1_0000_0000_0000 | UInt64(lane << 32 | number), low: 1)
            var hello = HostileConnection.hello(as: site, name: "hostile")
            FrameCodec.number(&hello, as: 0)
            connection.send(raw: frame(0x82, hello))
            connection.listen(for: .milliseconds(50))
            for first in stride(from: UInt32(1), to: .max, by: 500) where connection.isOpen && !target.isOver
            {
              let bytes = (first..<first + 500).flatMap { number in
                var ping = FrameCodec.frame(.ping) { $0.writeFixed(7 as UInt64) }
                FrameCodec.number(&ping, as: number)
                return ping
              }
              connection.send(raw: bytes.flatMap { frame(0x82, [$0]) })
            }
            connection.reset()
          }
        }
      }
    }
  }

  /// As many frames as are allowed: the connection must stay open, until its hello is due.
  static let allowed = Row(
    "control-web-socket", "a WebSocket that sends as many frames without content as it may",
    setup: setup
  ) { _ in
    { scene in
      await scene.hostile { target in
        guard let connection = open(target) else { return scene.fail("no WebSocket is accepted") }
        connection.send(raw: many(frame(0x8A), 30) + many(frame(0x82), 30) + many(frame(0x82, [0]), 2))
        connection.listen(for: .seconds(1))
        if !connection.isOpen { scene.fail("allowed frames end the connection") }
        connection.reset()
      }
    }
  }
}
