import CRDTCore
import SyncProtocol

/// Pings whose answers nobody reads.
enum PingFlood {
  static let row = Row.raw("pings", "30 MB of pings whose answers are not read") {
    let ping = FrameCodec.frame(.ping) { $0.writeFixed(7 as UInt64) }
    return { target in
      target.again { connection, _ in
        connection.reads = false
        for _ in 0..<(30 << 20) / ping.count where connection.isOpen && !target.isOver {
          connection.send(ping)
        }
        connection.stay()
      }
    }
  }
}
