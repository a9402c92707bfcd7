import CRDTCore

@testable import SyncProtocol

/// Frames that are as long as somebody says.
extension RawPeer {
  /// Whether the subject answers a ping, and so has taken what came before.
  func isAlive() -> Bool {
    send(.ping) { $0.writeFixed(7 as UInt64) }
    return sent(.pong) == [[0, 0, 0, 0, 0, 0, 0, 7]]
  }

  /// Whether the subject serves an interest.
  func answersQuestions() -> Bool {
    receive(frames: Bound.questions(1))
    return sent(.answer).count == 1
  }

  func sendInterest(_ queries: [[UInt8]], isFirst: Bool = true, isLast: Bool = true) {
    send(.interest) { out in
      out.writeVarint(1)
      out.write((isFirst ? 1 : 0) | (isLast ? 2 : 0) as UInt8)
      out.writeVarint(queries.count)
      for query in queries { out.writeBlob(query) }
    }
  }

  func sendWants(_ count: Int, flags: UInt8) {
    send(.want) { out in
      out.writeVarint(0)
      out.writeVarint(0)
      out.write(flags)
      out.writeVarint(count)
      for index in 0..<count {
        out.writeString(index == 0 ? "things" : "")
        out.writeBlob([3, 97])
        out.write(0)
        out.writeVarint(0)
      }
    }
  }

  func sendStatement(textBytes: Int, argumentBytes: Int) {
    send(.ask) { out in
      out.writeVarint(1)
      out.writeString(Bound.letters(textBytes))
      if argumentBytes == 0 {
        out.writeVarint(0)
      } else {
        out.writeVarint(1)
        out.writeString("z")
        // Beside the count, the name, the kind, and a length that takes three bytes.
        ValueCodec.write(.string(Bound.letters(argumentBytes - 7)), to: &out)
      }
      for _ in 0..<3 { out.writeVarint(1_000) }
    }
  }

  func sendFilter(totalBytes: Int, partBytes: Int) {
    send(.filter) { out in
      out.write(0)
      out.writeVarint(1)
      out.writeString("things")
      out.writeVarint(totalBytes)
      out.writeVarint(0)
      out.writeBlob([UInt8](repeating: 0, count: partBytes))
    }
  }

  /// Answers what the subject asked first.
  func answerFirstQuestion(_ body: (inout ByteWriter) -> Void) {
    send(.answer) { out in
      out.writeVarint(1)
      out.writeVarint(1)
      out.writeVarint(1)
      body(&out)
    }
  }

  /// Sends the beginning of a group of the stream of small ones.
  func sendFragment(of transactionBytes: Int, byteCount: Int) {
    var stream = ByteWriter()
    stream.writeVarint(transactionBytes)
    stream.write([UInt8](repeating: 0, count: byteCount))
    send(.fragment) { out in
      out.write(1)
      out.writeVarint(stream.count)
      out.write(stream.bytes)
    }
  }

  /// Sends the beginning of such a group, packed by the model of contexts.
  func sendDense(byteCount: Int) {
    var stream = ByteWriter()
    stream.writeVarint(SyncLimits.smallTransactionBytes)
    stream.write([UInt8](repeating: 0, count: byteCount - stream.count))
    let packed = DenseCoder().pack(stream.bytes.span.bytes)
    send(.fragment) { out in
      out.write(4)
      out.writeVarint(byteCount)
      out.write(packed)
    }
  }

  func sendChunk(of transactionBytes: Int, at offset: Int, _ bytes: [UInt8]) {
    send(.chunk) { out in
      out.write(1)
      out.writeVarint(1)
      out.writeVarint(transactionBytes)
      out.writeVarint(offset)
      out.writeVarint(bytes.count)
      out.write(bytes)
    }
  }

  /// Sends a group as a transfer of its own.
  func sendGroup(_ bytes: [UInt8]) {
    for offset in stride(from: 0, to: bytes.count, by: Limits.fragmentBytes) {
      sendChunk(
        of: bytes.count, at: offset, Array(bytes[offset..<min(offset + Limits.fragmentBytes, bytes.count)]))
    }
  }

  func sendEnd(codeBytes: Int, messageBytes: Int) {
    send(.answered) { out in
      out.writeVarint(1)
      out.writeString(Bound.letters(codeBytes))
      out.writeString(Bound.letters(messageBytes))
      out.writeVarint(0)
      out.writeVarint(0)
    }
  }
}
