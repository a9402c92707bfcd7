import CRDTCore
import SyncProtocol

/// Few bytes on the wire that stand for many.
enum Bombs {
  private static let totalBytes = SyncLimits.transactionBytes
  private static let zeros = [UInt8](repeating: 0, count: Limits.fragmentBytes)

  /// The beginnings of groups of zeros, all but the last piece of each.
  static let unfinishedTransfers = unfinished(
    "unfinished-transfers", "16 groups of 32 MiB of zeros, all but the last piece, again and again",
    connections: 16, aims: .crowd)

  /// The same of many; copies for the disk were not counted, and took 105 to 129 MiB in all.
  static let manyTransfers = unfinished(
    "many-transfers", "64 groups of 32 MiB of zeros, all but the last piece, again and again",
    connections: 64, aims: .manyTransfers)

  private static func unfinished(
    _ name: String, _ summary: String, connections: Int, aims: Aims
  ) -> Row {
    .raw(name, summary, aims: aims) {
      let frames = zeroChunks().dropLast()
      return { target in
        target.lanes(connections) { lane in
          target.again(lane: lane) { connection, _ in
            for frame in frames where connection.isOpen { connection.send(frame) }
            // Long enough for what takes long to be put aside.
            connection.listen(for: .seconds(3))
          }
        }
      }
    }
  }

  /// Groups whose pieces are as long on the wire as in memory.
  ///
  /// What had arrived and was not looked at was bounded for each connection alone, and took 78 MiB.
  static let storedTransfers = Row.raw(
    "stored-transfers", "64 connections with a MiB each of a group of 32 MiB that is not packed",
    aims: .crowd
  ) {
    let piece = [UInt8](repeating: 7, count: Limits.fragmentBytes)
    let frames = stride(from: 0, to: 1 << 20, by: piece.count).map {
      RawGroup.chunk(1, of: totalBytes, at: $0, plainBytes: piece.count, piece)
    }
    return { target in
      target.lanes(64) { lane in
        target.again(lane: lane) { connection, _ in
          for frame in frames where connection.isOpen { connection.send(frame) }
          connection.stay()
        }
      }
    }
  }

  static let zip = Row.raw(
    "zip-bomb",
    "deflated data that become far more than they announce, or 32 MiB of nothing, four times at once",
    aims: .crowd
  ) {
    let deflate = RawDeflate()
    let endless = [[UInt8]](repeating: [0, 0, 0, 0xFF, 0xFF], count: 20_000).joined()
    let large = deflate.alone([UInt8](repeating: 0, count: 64 << 20))
    let bombs = [
      [RawGroup.fragment(0, plainBytes: 1, large)],
      [RawGroup.fragment(0, plainBytes: 65_536, large)],
      [RawGroup.chunk(0, of: totalBytes, at: 0, plainBytes: 65_536, large)],
      [RawGroup.fragment(0, plainBytes: 65_536, Array(endless))],
      [RawGroup.fragment(0, plainBytes: 65_536, deflate.alone(zeros) + [1, 2, 3])],
      zeroChunks(),
    ]
    return { target in
      target.lanes(4) { lane in
        target.again(lane: lane, pause: .milliseconds(10)) { connection, number in
          for frame in bombs[number % bombs.count] where connection.isOpen { connection.send(frame) }
          connection.listen(for: .milliseconds(200))
        }
      }
    }
  }

  private static func zeroChunks() -> [[UInt8]] {
    let deflate = RawDeflate()
    let packed = deflate.alone(zeros)
    return stride(from: 0, to: totalBytes, by: zeros.count).map {
      RawGroup.chunk(0, of: totalBytes, at: $0, plainBytes: zeros.count, packed)
    }
  }
}
