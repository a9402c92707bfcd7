import DunlinKit
import TestKit
import Testing

@Suite struct DiskUsageTests {
  @Test func `disk usage is a tree of what the directory holds`() throws {
    let peer = try Peer()
    try peer.store["notes"].upsert(["_id": "n", "text": String(repeating: "x", count: 100_000)])
    let usage = try peer.dunlin.diskUsage()
    #expect(usage.name == "db")
    let files = try #require(usage.children)
    #expect(files.map(\.name).contains("data.mdb"))
    #expect(usage.byteCount == files.reduce(0) { $0 + $1.byteCount })
    #expect(usage.byteCount >= 100_000)
    #expect(files.allSatisfy { $0.children == nil })
    try peer.dunlin.close()
    #expect(throws: DunlinError.self) { try peer.dunlin.diskUsage() }
  }
}
