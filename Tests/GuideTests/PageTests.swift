import Foundation
import TestKit
import Testing

/// The code that pages show is compiled and run, and their links lead somewhere.
///
/// Each block of a page that is fenced as `swift` stands in `<Page>PageTests.swift`, line by line, at any one
/// indentation. The tests of that file run it. What cannot run here has another fence, such as `text`.
@Suite struct PageTests {
  /// Pages whose blocks stand elsewhere, or nowhere, and why; a page with its file of tests needs none.
  private static let exempt = [
    "Documentation/DrivingSync.md": "It shows a whole file, as below.",
    "Documentation/Errors.md": "A pattern that needs a full disk.",
    "Documentation/Forms.md": "FormsTests and the programs of Tests/TopLevel run it.",
    "Documentation/Links.md": "It shows a whole file, as below, and declarations of protocols.",
    "Documentation/Security.md": "It needs certificates; LoginTests and IdentityTests run the calls.",
    "Documentation/Testing.md": "It shows a whole file, as below.",
  ]

  private static func code(_ file: String) throws -> String {
    let place = URL(filePath: #filePath).deletingLastPathComponent().appending(path: file)
    return try String(contentsOf: place, encoding: .utf8)
  }

  @Test(arguments: Page.all.filter { !$0.swiftBlocks.isEmpty })
  func `all code of a page stands in its file of tests`(_ page: Page) throws {
    let file = "\(page.name)PageTests.swift"
    guard let code = try? Self.code(file) else {
      let reason = Self.exempt[page.path]
      #expect(reason != nil, "\(page.path) has Swift code: write \(file), or exempt the page")
      return
    }
    let lines = code.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    for block in page.swiftBlocks {
      let missing = block.firstMissingLine(in: lines)
      expect(missing == nil, "\(page.path):\(block.line): \(file) does not have the block from this line on")
    }
  }

  @Test(arguments: [
    ("DrivingSync.md", "../Consumers/OnlySyncProtocol/PipeDriver.swift"), ("Links.md", "SocketLink.swift"),
    ("Testing.md", "TestingGuideTests.swift"),
  ])
  func `a page shows a whole file`(_ name: String, _ file: String) throws {
    let page = try #require(Page(path: "Documentation/\(name)"))
    let code = try Self.code(file)
    let text = page.lines.joined(separator: "\n")
    #expect(text.contains("```swift\n" + code + "```"), "Copy \(file) into the page")
  }

  @Test func `the exempt pages exist`() {
    #expect(Set(Self.exempt.keys).isSubset(of: Page.all.map(\.path)))
  }

  @Test func `a block is found at another indentation, and nowhere else`() throws {
    let page = Page(
      path: "A.md",
      text: """
        Text.

        ```swift
        let a = 1

        if a > 0 {
          print(a)
        }
        ```

        - In a list:

          ```swift
          let b = 2
          ```
        ```text
        .package(path: "..")
        ```
        """)
    let blocks = page.swiftBlocks
    #expect(blocks.map(\.line) == [4, 14])
    #expect(page.prose.map(\.number) == [1, 2, 10, 11, 12])
    let code = ["  let a = 1", "", "  if a > 0 {", "    print(a)", "  }", "      let b = 2"]
    #expect(blocks.map { $0.firstMissingLine(in: code) } == [nil, nil])
    // A line between, a line that is indented otherwise, a line that goes on, an end that is missing.
    let between = Array(code[..<2] + ["  print(0)"] + code[2...])
    #expect(blocks[0].firstMissingLine(in: between) == "if a > 0 {")
    let shifted = code.map { $0 == "    print(a)" ? "   print(a)" : $0 }
    #expect(blocks[0].firstMissingLine(in: shifted) == "  print(a)")
    #expect(blocks[1].firstMissingLine(in: code.map { $0 + " // 2" }) == "let b = 2")
    #expect(blocks[0].firstMissingLine(in: Array(code[..<4])) == "}")
    #expect(blocks[0].firstMissingLine(in: []) == "let a = 1")
  }
}
