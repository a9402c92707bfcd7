import Links
import Synchronization

/// The checks of callbacks and of back pressure.
extension LinkTrial {
  func executorRunsInOrder() async {
    guard let ends = ends() else { return }
    ends.attach()
    let seen = Mutex((numbers: [Int](), strange: 0))
    let executor = ends.near.executor
    expect(!executor.isCurrent, "The executor takes any thread for its own")
    for number in 0..<200 {
      executor.execute {
        seen.withLock { seen in
          seen.numbers.append(number)
          if !executor.isCurrent { seen.strange += 1 }
        }
      }
    }
    await wait(for: "The run of 200 bodies") { seen.withLock { $0.numbers.count == 200 } }
    seen.withLock { seen in
      expect(seen.numbers == Array(0..<200), "The executor ran bodies out of order")
      expect(seen.strange == 0, "The executor does not know its own thread")
    }
  }

  /// The callbacks take some time, so that concurrent calls would overlap.
  func callsComeOneAtATime() async {
    let dawdle = { @Sendable (_: any Link, _: [UInt8]) in
      let end = ContinuousClock.now + .microseconds(200)
      while ContinuousClock.now < end {}
    }
    guard let ends = ends(nearReceived: dawdle, farReceived: dawdle) else { return }
    ends.attach()
    for number in 0..<200 {
      ends.near.write([PatternBytes.outward.bytes(50, from: number * 50)])
      ends.far.write([PatternBytes.homeward.bytes(50, from: number * 50)])
      if number % 20 == 0 { await settle() }
    }
    ends.near.finishWriting()
    ends.far.finishWriting()
    await expectEnd(at: ends.farUser, "The far end", behind: 10_000)
    await expectEnd(at: ends.nearUser, "The near end", behind: 10_000)
  }

  func noRoomStopsReading() async {
    guard let ends = ends(farRoom: 0) else { return }
    ends.attach()
    // Far more than may be delivered to an end without room.
    let count = options.overshoot * 3
    for piece in pieces(.outward, count) { ends.near.write([piece]) }
    await wait(for: "The first byte") { ends.farUser.receivedBytes > 0 }
    await settle { ends.farUser.receivedBytes }
    // Calling `resumeReading` without room does not give the link room.
    ends.far.resumeReading()
    await settle { ends.farUser.receivedBytes }
    let received = ends.farUser.receivedBytes
    expect(
      received <= options.overshoot,
      "\(received) bytes were handed over to an end that has had no room since the first")
  }

  func roomResumesReading() async {
    guard let ends = ends(farRoom: 0) else { return }
    ends.attach()
    for piece in pieces(.outward, options.volume) { ends.near.write([piece]) }
    ends.near.finishWriting()
    var room = 0
    while room < options.volume {
      let given = room
      let hasCome = await wait(for: "More, there being room for \(given) bytes") {
        ends.farUser.receivedBytes > given || ends.farUser.receivedBytes == options.volume
      }
      guard hasCome else { return }
      await settleUntilRefused(ends.farUser)
      // Like a session: it takes what there is, and then calls `resumeReading`.
      room = ends.farUser.receivedBytes + options.volume / 10
      ends.farUser.setRoom(room)
      ends.far.resumeReading()
    }
    ends.farUser.setRoom(.max)
    ends.far.resumeReading()
    await expectEnd(at: ends.farUser, "The far end", behind: options.volume)
  }

  func noRoomLetsWrite() async {
    guard let ends = ends(farRoom: 0) else { return }
    ends.attach()
    for piece in pieces(.outward, options.volume) { ends.near.write([piece]) }
    await wait(for: "The first byte") { ends.farUser.receivedBytes > 0 }
    await settleUntilRefused(ends.farUser)
    for piece in pieces(.homeward, options.volume) { ends.far.write([piece]) }
    await wait(
      for: "What was written by an end without room", counting: { ends.nearUser.receivedBytes }
    ) { ends.nearUser.receivedBytes == options.volume }
  }

  func unsentBytesStopReading() async {
    guard let ends = ends(farRoom: 0) else { return }
    ends.attach()
    let piece = 1 << 20
    for start in stride(from: 0, to: options.unsentBytes, by: piece) {
      ends.near.write([PatternBytes.outward.bytes(piece, from: start)])
    }
    await wait(for: "The first byte") { ends.farUser.receivedBytes > 0 }
    let answer = options.overshoot * 3
    for piece in pieces(.homeward, answer) { ends.far.write([piece]) }
    await settle { ends.nearUser.receivedBytes }
    let received = ends.nearUser.receivedBytes
    expect(
      received <= options.overshoot,
      "\(received) bytes were handed over while \(options.unsentBytes) waited to be sent")
    ends.farUser.setRoom(.max)
    ends.far.resumeReading()
    await wait(
      for: "All, once the far end has room",
      counting: { ends.farUser.receivedBytes + ends.nearUser.receivedBytes }
    ) {
      ends.farUser.receivedBytes >= options.unsentBytes && ends.nearUser.receivedBytes == answer
    }
  }
}
