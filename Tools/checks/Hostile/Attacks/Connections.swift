import CRDTCore
import PeerControl
import SyncProtocol

/// Attacks that are made of connections more than of what is said on them.
enum Connections {
  /// Connections that begin and do not go on.
  static let partialFrames = Row.raw(
    "partial-frames", "255 connections: silent ones, one byte at a time, and most of a frame after hello",
    aims: .crowd
  ) {
    { target in
      let some = (0..<255).compactMap { _ in HostileConnection(to: target) }
      let hello = FrameCodec.frame(.hello, isFirst: true) { $0.write([UInt8](repeating: 1, count: 80)) }
      let frame = RawGroup.fragment(1, plainBytes: 65_536, [UInt8](repeating: 0, count: 65_536))
      for (number, connection) in some.enumerated() where number % 3 == 2 {
        connection.sayHello(site: number + 1)
        connection.flush()
        connection.send(raw: Array(frame.dropLast(10)))
      }
      var offset = 0
      while !target.isOver {
        for (number, connection) in some.enumerated() where number % 3 == 1 && connection.isOpen {
          connection.send(raw: [hello[offset % hello.count]])
        }
        offset += 1
        target.pause(.milliseconds(100))
      }
    }
  }

  /// Connections of which each has the victim write to its log.
  static let logFlood = Row.raw(
    "log-flood",
    "connections of one byte, and hellos with escapes and line ends in the name, one after the other"
  ) {
    { target in
      target.lanes(4) { lane in
        var number = 0
        while !target.isOver {
          number += 1
          guard let connection = HostileConnection(to: target) else { continue }
          if number % 2 == 0 {
            connection.send(raw: [0x78])
          } else {
            let site = SiteID(high: UInt64(lane), low: UInt64(number))
            connection.sayHello(as: site, name: "\u{1B}[31mhostile\n\rerror: \(number)")
            connection.flush()
            connection.send(raw: [0])
          }
          connection.listen(for: .milliseconds(5))
          connection.reset()
        }
      }
    }
  }

  /// A peer that says it is the honest one, which the victim dials.
  static let siteClaim = Row(
    "site-claim", "a connection that claims the site of an honest peer which the victim dials",
    setup: Scene.Setup(dialsHonest: true)
  ) { scene in
    let site = try await scene.honest.site
    return { scene in
      await scene.hostile { target in
        while !target.isOver {
          guard let connection = HostileConnection(to: target) else { continue }
          connection.sayHello(as: site, name: "honest")
          connection.stay()
          target.pause(.milliseconds(200))
        }
      }
    }
  }

  /// Sessions that take all room there is, while the honest peer is away for a moment.
  static let idleSessions = Row(
    "idle-sessions", "256 idle sessions that ping; the honest peer comes back to them",
    aims: Aims(memoryWhile: 64 << 20, extraWait: 1_000)
  ) { _ in
    { scene in
      async let crowd: Void = scene.hostile { target in
        var some: [HostileConnection] = []
        while !target.isOver {
          some.removeAll { !$0.isOpen }
          while some.count < 256, !target.isOver, let connection = HostileConnection(to: target) {
            connection.sayHello(site: 1 + Int(target.sentBytes))
            connection.listen(for: .milliseconds(2))
            guard connection.isOpen else { break }
            some.append(connection)
          }
          for connection in some {
            connection.send(.ping) { $0.writeFixed(7 as UInt64) }
            connection.listen(for: .milliseconds(1))
          }
        }
      }
      try await Task.sleep(for: .milliseconds(1_500))
      try await scene.honest.ask("disconnect", ["port": .int(Int64(scene.port))])
      try await Task.sleep(for: .milliseconds(200))
      try await scene.honest.ask("connect", ["port": .int(Int64(scene.port))])
      await crowd
    }
  }
}
