import CRDTCore
import SyncProtocol

/// Questions and requests of a peer that subscribes.
enum Questions {
  /// Wants of a reconciliation that never ends.
  ///
  /// All of a collection is asked for first, which fills the window, so that what is wanted waits.
  static let wants = Row.raw(
    "wants", "32 MB of wants in an open reconciliation, while nothing that comes is acknowledged",
    setup: Scene.Setup(documents: 30_000, documentBytes: 500)
  ) {
    let frames = (0..<440).map { frame in
      FrameCodec.frame(.want, payloadBytes: 120 << 10) { out in
        out.writeVarint(1)
        out.write(0)
        out.writeVarint(8_000)
        for index in 0..<8_000 {
          out.writeString(index == 0 ? "things" : "")
          out.writeBlob(RawGroup.id("\((frame * 8_000 + index) % 30_000)"))
          out.write(0)
          out.writeVarint(0)
        }
      }
    }
    return { target in
      target.again { connection, _ in
        for frame in RawInterest.all(of: "things") { connection.send(frame) }
        connection.send(.compare) { out in
          out.writeVarint(1)
          out.writeVarint(1)
          RangeQuestion.everything(1, KeyRange(collection: "things")).encode(to: &out)
        }
        connection.listen(for: .milliseconds(500))
        for frame in frames where connection.isOpen && !target.isOver { connection.send(frame) }
        connection.stay()
      }
    }
  }

  /// Questions about ranges most of which are the same documents.
  static let overlapping = Row.raw(
    "overlapping-questions", "questions over overlapping ranges of 100,000 documents, 1,000 in a round",
    setup: Scene.Setup(documents: 100_000, documentBytes: 20)
  ) {
    { target in
      target.lanes(2) { lane in
        target.again(lane: lane) { connection, _ in
          for frame in RawInterest.all(of: "things") { connection.send(frame) }
          for round in 1...100 where connection.isOpen && !target.isOver {
            ask(connection, round: round)
            connection.listen(for: .milliseconds(500))
          }
        }
      }
    }
  }

  /// Sends questions about ranges with successive beginnings, all up to the end; no sum ever matches.
  private static func ask(_ connection: HostileConnection, round: Int) {
    for start in stride(from: 0, to: 1_000, by: 100) {
      connection.send(.compare) { out in
        out.writeVarint(round)
        out.writeVarint(100)
        for number in start..<start + 100 {
          out.writeVarint(round * 1_000 + number)
          out.write(0)
          out.writeString("things")
          out.writeBlob(RawGroup.id("\(number)"))
          out.writeBlob([UInt8]())
          out.writeVarint(1_000 + number)
          out.writeFixed(UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
        }
      }
    }
    connection.flush()
  }
}
