import Foundation
import Testing

/// Pages show files of these tests, word for word.
@Suite struct PageTests {
  @Test(arguments: [("Links.md", "SocketLink.swift"), ("Testing.md", "TestingGuideTests.swift")])
  func `a page shows the code that is run`(_ page: String, _ file: String) throws {
    let tests = URL(filePath: #filePath).deletingLastPathComponent()
    let code = try String(contentsOf: tests.appending(path: file), encoding: .utf8)
    let place = tests.deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Documentation/\(page)")
    let text = try String(contentsOf: place, encoding: .utf8)
    #expect(text.contains("```swift\n" + code + "```"), "Copy \(file) into the page")
  }
}
