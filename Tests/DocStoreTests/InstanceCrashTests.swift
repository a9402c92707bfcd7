import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

/// Processes killed between the writes that keep data and side file together.
@Suite struct InstanceCrashTests {
  private let quiet = StoreOptions(log: { _, _ in })

  @Test(arguments: [StoreStep.creationFilled, .creationMarked, .creationRenamed])
  func `a creation that is cut short leaves a store or none, and no change of site`(step: StoreStep)
    async throws
  {
    try await TemporaryDirectory.with { directory in
      let crash = Crash(path: directory.file("db"), step: step)
      await #expect(processExitsWith: .signal(SIGKILL)) { [crash = crash as Crash] in
        _ = try Store.open(at: crash.path, options: crash.options())
      }
      let store = try Store.open(at: crash.path, options: quiet)
      defer { store.close() }
      #expect(store.identityChange == nil)
      try store.put("a", ["n": .int(1)])
    }
  }

  @Test(arguments: [StoreStep.nonceCommitted, .nonceMarked])
  func `a crash after the first commit of a session is no change of site`(step: StoreStep) async throws {
    try await TemporaryDirectory.with { directory in
      let crash = Crash(path: directory.file("db"), step: step)
      let first = try Store.open(at: crash.path, options: quiet)
      try first.put("a", [:])
      let site = first.site
      first.close()
      for round in 0..<3 {
        let store = try Store.open(at: crash.path, options: quiet)
        expectEqual(store.site, site)
        expect(store.identityChange == nil)
        try expectEqual(store.count(in: "cars"), 1 + round)
        store.close()
        await #expect(processExitsWith: .signal(SIGKILL)) { [crash = crash as Crash, round = round as Int] in
          let store = try Store.open(at: crash.path, options: crash.options())
          try store.put("b\(round)", [:])
          // The side file follows after the write has returned.
          sleep(10)
        }
      }
    }
  }

  @Test(arguments: [StoreStep.siteMarked, .siteCommitted])
  func `a crash while a copy becomes a new site leaves a copy that does so, once`(step: StoreStep)
    async throws
  {
    try await TemporaryDirectory.with { directory in
      let original = directory.file("db")
      let first = try Store.open(at: original, options: quiet)
      try first.put("a", [:])
      let site = first.site
      first.close()
      let crash = Crash(path: directory.file("copy"), step: step)
      try FileManager.default.copyItem(atPath: original, toPath: crash.path)
      await #expect(processExitsWith: .signal(SIGKILL)) { [crash = crash as Crash] in
        _ = try Store.open(at: crash.path, options: crash.options())
      }
      let second = try Store.open(at: crash.path, options: quiet)
      let copy = second.site
      #expect(copy != site)
      #expect((second.identityChange == nil) == (step == .siteCommitted))
      second.close()
      let third = try Store.open(at: crash.path, options: quiet)
      defer { third.close() }
      #expect(third.site == copy)
      #expect(third.identityChange == nil)
    }
  }
}
