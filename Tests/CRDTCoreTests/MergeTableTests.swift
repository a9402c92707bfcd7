import CRDTModel
import Foundation
import Testing

@Suite struct MergeTableTests {
  private static let page =
    URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Documentation/Merging.md")

  @Test func `the table of outcomes in the documentation is what merging does`() throws {
    let page = try String(contentsOf: Self.page, encoding: .utf8)
    // Tools/laws/run --write-table writes it anew.
    #expect(try MergeTable.replacing(in: page) == page)
  }
}
