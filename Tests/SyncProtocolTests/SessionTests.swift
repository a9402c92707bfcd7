import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

@Suite struct SessionTests {
  @Test func `a subscriber gets what matches and nothing else`() throws {
    let network = TestNetwork()
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    for index in 0..<200 {
      try a.put("d\(index)", ["color": .string(index % 2 == 0 ? "red" : "blue"), "n": .int(Int64(index))])
    }
    try b.subscribe("SELECT * FROM things WHERE color = 'red'")
    let (_, end) = try network.connect(a, b)
    try network.settle()
    #expect(end.closed == nil)
    #expect(try b.documents().count == 100)
    #expect(try b.documents()["d4"] == a.documents()["d4"])
    #expect(end.caughtUp == 1)
  }

  @Test func `a live change reaches the subscriber`() throws {
    let network = TestNetwork()
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    try b.subscribe("SELECT * FROM things WHERE color = 'red'")
    try network.connect(a, b)
    try network.settle()
    try a.put("x", ["color": .string("red"), "n": .int(1)])
    try network.settle()
    #expect(try b.document("x")?["n"] == .int(1))
    try a.put("x", ["n": .int(2)])
    try network.settle()
    #expect(try b.document("x")?["n"] == .int(2))
    try a.put("x", ["color": .string("blue")])
    try network.settle()
    #expect(try b.document("x")?["color"] == .string("blue"))
    try a.put("y", ["color": .string("red")])
    try network.settle()
    try a.remove("y")
    try network.settle()
    #expect(try b.document("y") == nil)
  }
}
