import DunlinKit
import Foundation
import TestKit
import Testing

/// The code of `README.md`.
@Suite(.timeLimit(.minutes(15))) struct READMEPageTests {
  @Test func `the first lines sync two databases`() async throws {
    let files = try TemporaryDirectory()
    let directory = files.file("data")

    let garage = try Dunlin(path: directory + "/garage", identity: .unsafeDevelopment(appID: "cars"))
    let phone = try Dunlin(path: directory + "/phone", identity: .unsafeDevelopment(appID: "cars"))

    // One listens, and the other one connects.
    try garage.listen(host: "127.0.0.1", port: 0)
    try garage.startSync()
    phone.connect(host: "127.0.0.1", port: garage.listeningPorts[0])
    try phone.startSync()

    // The phone pulls what it subscribes to, and observes it.
    let reds = "SELECT * FROM cars WHERE color = 'red'"
    let subscription = try phone.sync.registerSubscription(query: reds)
    let observer = try phone.store.registerObserver(query: reds) { result in
      print(result.items.count, "red cars")
    }

    // The garage writes: first to its own disk, and from there to the phone.
    let cars = garage.store["cars"]
    try await cars.upsert(["_id": "c1", "color": "red", "trips": DunlinCounter()])
    await cars.findByID("c1").update { car in car?["trips"].counter?.increment(by: 1) }
    try await garage.sync.waitUntilArrived(timeout: .seconds(10))

    let red = try phone.store["cars"].find("color == 'red'").sort("_id").exec()

    #expect(red.map { $0["trips"].counter?.value } == [1])
    #expect(!observer.isCancelled)
    subscription.cancel()
    observer.cancel()
    for peer in [garage, phone] { try peer.close() }
  }

  @Test func `every page is in the list`() throws {
    let readme = try #require(Page(path: "README.md"))
    let text = readme.lines.joined(separator: "\n")
    let missing = Page.all.map(\.path).filter { $0 != "README.md" && !text.contains("](\($0))") }
    #expect(missing == [])
  }

  @Test func `the page names what the demo installs`() throws {
    let script = Page.repository.appending(path: "Tools/lib/requirements.sh")
    let text = try String(contentsOf: script, encoding: .utf8)
    let packages = text.matches(of: /(?:libraries|tools)\+=" ([a-z0-9-]+)"/).map { "`\($0.output.1)`" }
    let readme = try #require(Page(path: "README.md")).lines.joined(separator: "\n")
    #expect(packages.count == 5)
    #expect(packages.filter { !readme.contains($0) } == [])
  }
}
