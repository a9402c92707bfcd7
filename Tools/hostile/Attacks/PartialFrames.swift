import CRDTCore
import SyncProtocol

/// Connections that begin and do not go on.
enum PartialFrames {
  static let row = Row.raw(
    "partial-frames", "256 connections: silent ones, one byte at a time, and most of a frame after hello",
    aims: .crowd
  ) {
    { target in
      let some = (0..<255).compactMap { _ in HostileConnection(to: target) }
      let hello = [UInt8](
        FrameCodec.frame(.hello, isFirst: true) { $0.write([UInt8](repeating: 1, count: 80)) })
      for (number, connection) in some.enumerated() where number % 3 == 2 {
        connection.sayHello(site: number + 1)
        let frame = RawGroup.fragment(1, plainBytes: 65_536, [UInt8](repeating: 0, count: 65_536))
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
}
