import Links
import Synchronization

/// The checks of ends.
extension LinkTrial {
  func oneDirectionEnds() async {
    guard let ends = ends() else { return }
    ends.attach()
    for piece in pieces(.outward, options.volume) { ends.near.write([piece]) }
    ends.near.finishWriting()
    await expectEnd(at: ends.farUser, "The far end", behind: options.volume)
    await expectOrderlyEnd(of: .outbound, at: ends.nearUser, "the near end")
    await settle()
    expect(ends.nearUser.end(.inbound) == nil, "The end of one direction ended the other one as well")
    for piece in pieces(.homeward, options.volume) { ends.far.write([piece]) }
    ends.far.finishWriting()
    await expectEnd(at: ends.nearUser, "The near end", behind: options.volume)
    await expectOrderlyEnd(of: .outbound, at: ends.farUser, "the far end")
  }

  private func expectOrderlyEnd(of direction: LinkDirection, at user: WatchingUser, _ name: String) async {
    await wait(for: "The end of \(name)'s \(direction) direction") { user.end(direction) != nil }
    if let error = user.end(direction) ?? nil {
      fail("The \(direction) direction of \(name) ended with an error and not in order: \(error)")
    }
  }

  func silentDirectionEnds() async {
    guard let ends = ends() else { return }
    ends.attach()
    ends.near.finishWriting()
    await expectEnd(at: ends.farUser, "The far end", behind: 0)
    ends.far.write([PatternBytes.homeward.bytes(1_000, from: 0)])
    ends.far.finishWriting()
    await expectEnd(at: ends.nearUser, "The near end", behind: 1_000)
  }

  func nothingFollowsTheEnd() async {
    guard let ends = ends() else { return }
    ends.attach()
    let count = options.volume / 2
    ends.near.write([PatternBytes.outward.bytes(count, from: 0)])
    ends.near.finishWriting()
    ends.near.write([PatternBytes.outward.bytes(1_000, from: count)])
    ends.near.finishWriting()
    await expectEnd(at: ends.farUser, "The far end", behind: count)
    ends.near.write([PatternBytes.outward.bytes(1_000, from: count)])
    ends.near.finishWriting()
    await settle()
    expect(ends.farUser.receivedBytes == count, "What was written behind the end of the direction arrived")
    expect(ends.nearUser.end(.inbound) == nil, "A second end of one direction ended the other one")
  }

  func closeEndsBothDirections(closingFar: Bool) async {
    guard let ends = ends() else { return }
    ends.attach()
    let (link, user) = closingFar ? (ends.far, ends.farUser) : (ends.near, ends.nearUser)
    let (other, otherUser) = closingFar ? (ends.near, ends.nearUser) : (ends.far, ends.farUser)
    ends.near.write([PatternBytes.outward.bytes(100, from: 0)])
    ends.far.write([PatternBytes.homeward.bytes(100, from: 0)])
    await wait(for: "A hundred bytes each way") {
      ends.farUser.receivedBytes == 100 && ends.nearUser.receivedBytes == 100
    }
    link.close(LinkError(.closed, "The check closes it"))
    await wait(for: "Both ends at the end that closed") { user.hasEnded }
    for direction in [LinkDirection.inbound, .outbound] {
      if case .some(.none) = user.end(direction) {
        fail("The end that closed was told that its \(direction) direction has ended in order")
      }
    }
    await wait(for: "The end of the inbound direction at the other end") { otherUser.end(.inbound) != nil }
    other.close(LinkError(.closed, "The check closes it"))
    await wait(for: "Both ends at the other end") { otherUser.hasEnded }
  }

  func closingAgainHasNoEffect() async {
    guard let ends = ends() else { return }
    ends.attach()
    ends.near.write([PatternBytes.outward.bytes(100, from: 0)])
    await wait(for: "A hundred bytes") { ends.farUser.receivedBytes == 100 }
    for _ in 0..<3 { ends.near.close(LinkError(.closed, "The check closes it")) }
    ends.near.write([PatternBytes.outward.bytes(100, from: 100)])
    ends.near.finishWriting()
    ends.near.resumeReading()
    await wait(for: "Both ends at the end that closed") { ends.nearUser.hasEnded }
    ends.near.close(LinkError(.closed, "The check closes it"))
    ends.near.write([PatternBytes.outward.bytes(100, from: 100)])
    await settle()
    expect(ends.farUser.receivedBytes == 100, "What was written behind a close arrived")
  }

  func closeDuringWrites() async {
    guard let ends = ends() else { return }
    ends.attach()
    await withTaskGroup { group in
      group.addTask {
        var offset = 0
        // Only one writer, so that what arrives is a prefix of the pattern.
        while !ends.nearUser.hasEnded, offset < 64 * self.options.volume, !Task.isCancelled {
          ends.near.write([PatternBytes.outward.bytes(10_000, from: offset)])
          offset += 10_000
          await Task.yield()
        }
      }
      group.addTask {
        await self.wait(for: "The first bytes") { ends.farUser.receivedBytes > 0 }
        ends.near.close(LinkError(.closed, "The check closes it"))
        await self.wait(for: "Both ends at the end that closed") { ends.nearUser.hasEnded }
      }
      await group.waitForAll()
    }
    await wait(for: "The end of the inbound direction at the other end") { ends.farUser.end(.inbound) != nil }
  }

  func closeOfAnUnreadLink() async {
    guard let ends = ends(farRoom: 0) else { return }
    ends.attach()
    for piece in pieces(.outward, 3 * options.volume) { ends.near.write([piece]) }
    ends.near.finishWriting()
    ends.near.close(LinkError(.closed, "The check closes it"))
    await wait(for: "Both ends at the end that closed") { ends.nearUser.hasEnded }
  }

  func closeBeforeTheUser() async {
    guard let ends = ends() else { return }
    ends.near.close(LinkError(.closed, "The check closes it"))
    ends.attach()
    await wait(for: "Both ends at a link that was closed before") { ends.nearUser.hasEnded }
    expect(ends.farUser.receivedBytes == 0, "A link that was closed before its user came has sent something")
  }

  func callbacksMayClose() async {
    let ends = ends(farReceived: { link, _ in link.close(LinkError(.closed, "The check closes it")) })
    guard let ends else { return }
    ends.attach()
    for piece in pieces(.outward, options.volume) { ends.near.write([piece]) }
    await wait(for: "Both ends at the end that closed inside a call") { ends.farUser.hasEnded }
    let received = ends.farUser.receivedBytes
    await settle()
    expect(received == ends.farUser.receivedBytes, "Bytes came behind both ends")
  }

  func usersAreReleased() async {
    guard let ends = ends() else { return }
    ends.attach()
    ends.near.write([PatternBytes.outward.bytes(100, from: 0)])
    ends.far.write([PatternBytes.homeward.bytes(100, from: 0)])
    ends.near.finishWriting()
    ends.far.finishWriting()
    await expectEnd(at: ends.farUser, "The far end", behind: 100)
    await expectEnd(at: ends.nearUser, "The near end", behind: 100)
  }
}
