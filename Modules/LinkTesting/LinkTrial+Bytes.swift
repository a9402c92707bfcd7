import Links
import Synchronization

/// The checks of what arrives.
extension LinkTrial {
  /// Writes to the far end, ends the direction, and waits until all bytes have arrived there.
  func carry(_ writes: [[[UInt8]]]) async {
    guard let ends = ends() else { return }
    ends.attach()
    for write in writes { ends.near.write(write) }
    ends.near.finishWriting()
    let count = writes.joined().reduce(0) { $0 + $1.count }
    await expectEnd(at: ends.farUser, "The far end", behind: count)
  }

  /// Waits until an end has all bytes and the end of its inbound direction.
  func expectEnd(at user: WatchingUser, _ name: String, behind count: Int) async {
    await wait(
      for: "The end of \(name)'s inbound direction behind \(count) bytes", counting: { user.receivedBytes }
    ) { user.end(.inbound) != nil }
    expect(user.receivedBytes == count, "\(name) was handed \(user.receivedBytes) bytes of \(count)")
    if let error = user.end(.inbound) ?? nil {
      fail("\(name)'s inbound direction ended with an error and not in order: \(error)")
    }
  }

  /// Pieces of many sizes, mostly small, that add up to `count` bytes of a pattern.
  func pieces(_ pattern: PatternBytes, _ count: Int) -> [[UInt8]] {
    let sizes = [1, 2, 100, 1_460, 7, 16_384, 300, 65_537, 30]
    var pieces: [[UInt8]] = []
    var offset = 0
    while offset < count {
      let size = min(sizes[pieces.count % sizes.count], count - offset)
      pieces.append(pattern.bytes(size, from: offset))
      offset += size
    }
    return pieces
  }

  func bytesArriveInOrder() async {
    await carry(pieces(.outward, options.volume).map { [$0] })
  }

  func manyPiecesArrive() async {
    let pieces = (0..<1_000).flatMap { [PatternBytes.outward.bytes(37, from: $0 * 37), []] }
    await carry([pieces])
  }

  func emptyWritesBringNothing() async {
    guard let ends = ends() else { return }
    ends.attach()
    ends.near.write([])
    ends.near.write([[]])
    ends.near.write([[], [], []])
    await settle()
    expect(ends.farUser.end(.inbound) == nil, "An empty write ended the direction")
    ends.near.write([PatternBytes.outward.bytes(1, from: 0)])
    ends.near.write([[]])
    ends.near.write([PatternBytes.outward.bytes(9, from: 1)])
    await wait(for: "What was written between empty writes") { ends.farUser.receivedBytes == 10 }
  }

  func bothDirectionsAtOnce() async {
    guard let ends = ends() else { return }
    ends.attach()
    let there = pieces(.outward, options.volume)
    let back = pieces(.homeward, options.volume)
    for index in there.indices {
      ends.near.write([there[index]])
      ends.far.write([back[index]])
    }
    ends.near.finishWriting()
    ends.far.finishWriting()
    await expectEnd(at: ends.farUser, "The far end", behind: options.volume)
    await expectEnd(at: ends.nearUser, "The near end", behind: options.volume)
  }

  func earlyBytesArrive() async {
    guard let ends = ends() else { return }
    ends.near.write([PatternBytes.outward.bytes(500, from: 0)])
    ends.near.attach(ends.nearUser)
    ends.near.write([PatternBytes.outward.bytes(500, from: 500)])
    await settle()
    ends.far.attach(ends.farUser)
    ends.near.write([PatternBytes.outward.bytes(500, from: 1_000)])
    ends.near.finishWriting()
    await expectEnd(at: ends.farUser, "The far end", behind: 1_500)
  }

  /// Each write has several pieces; each piece names its writer and its write.
  func writesOfThreadsStayWhole() async {
    guard let ends = ends(patterned: false) else { return }
    ends.attach()
    let writers = 4
    let writes = 100
    await withTaskGroup { group in
      for writer in 0..<writers {
        group.addTask {
          for write in 0..<writes {
            let piece = [UInt8(writer), UInt8(write), 0xA5]
            ends.near.write([piece, piece, piece])
          }
        }
      }
    }
    ends.near.finishWriting()
    await expectEnd(at: ends.farUser, "The far end", behind: writers * writes * 9)
    let bytes = ends.farUser.current.kept
    var next = [Int](repeating: 0, count: writers)
    for start in stride(from: 0, through: bytes.count - 9, by: 9) {
      let pieces = (0..<3).map { Array(bytes[(start + 3 * $0)..<(start + 3 * $0 + 3)]) }
      let writer = Int(pieces[0][0])
      guard writer < writers, pieces[0] == pieces[1], pieces[1] == pieces[2] else {
        return fail("The pieces of one write did not stay together, at byte \(start)")
      }
      guard Int(pieces[0][1]) == next[writer] else {
        return fail("The writes of one thread did not stay in order, at byte \(start)")
      }
      next[writer] += 1
    }
  }

  /// The far end sends back what it receives, inside the callback that delivers it.
  func callbacksMayWrite() async {
    let sent = Mutex(0)
    let ends = ends(farReceived: { link, bytes in
      let offset = sent.withLock { sent in
        defer { sent += bytes.count }
        return sent
      }
      link.write([PatternBytes.homeward.bytes(bytes.count, from: offset)])
    })
    guard let ends else { return }
    ends.attach()
    let count = options.volume / 2
    for piece in pieces(.outward, count) { ends.near.write([piece]) }
    await wait(for: "What was written inside callbacks") { ends.nearUser.receivedBytes == count }
  }

  func bytesAreCounted() async {
    guard let ends = ends() else { return }
    ends.attach()
    let before = (ends.near.statistics.sentBytes, ends.far.statistics.receivedBytes)
    ends.near.write([PatternBytes.outward.bytes(10_000, from: 0)])
    await wait(for: "What was written") { ends.farUser.receivedBytes == 10_000 }
    // A link may also count its own overhead.
    let (sent, received) = (ends.near.statistics.sentBytes, ends.far.statistics.receivedBytes)
    expect(sent >= before.0 + 10_000, "Of 10,000 bytes written \(sent - before.0) were counted as sent")
    expect(
      received >= before.1 + 10_000, "Of 10,000 bytes received \(received - before.1) were counted")
  }
}
