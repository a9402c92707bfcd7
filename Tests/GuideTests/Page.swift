import Foundation
import Testing

/// One page of the documentation, as it lies in the repository.
struct Page: Sendable, CustomTestStringConvertible {
  /// The path of the file from the repository's top, for example `Documentation/Queries.md`.
  let path: String
  /// All lines of the page.
  let lines: [String]

  /// The top directory of the repository.
  static let repository = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The pages for readers: those of `Documentation`, and those at the top of the repository.
  static let all: [Page] = {
    let folder = repository.appending(path: "Documentation").path
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let pages = names.filter { $0.hasSuffix(".md") }.map { "Documentation/\($0)" }
    return (["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"] + pages.sorted()).compactMap(
      Page.init)
  }()

  /// Reads a page; `nil` where there is none.
  init?(path: String) {
    let file = Page.repository.appending(path: path)
    guard let text = try? String(contentsOf: file, encoding: .utf8) else { return nil }
    self.init(path: path, text: text)
  }

  /// A page that has this text.
  init(path: String, text: String) {
    self.path = path
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// The name of the file without its ending, for example `Queries`.
  var name: String { Self.name(ofPath: path) }

  /// The name of a page's file without its ending.
  static func name(ofPath path: String) -> String {
    URL(filePath: path).deletingPathExtension().lastPathComponent
  }

  var testDescription: String { path }

  /// The blocks of code whose fence says `swift`, in the order of the page.
  var swiftBlocks: [CodeBlock] {
    var blocks: [CodeBlock] = []
    forEachLine { number, line, fence in
      guard fence == "swift" else { return }
      if blocks.last?.endLine == number - 1 {
        blocks[blocks.count - 1].lines.append(line)
      } else {
        blocks.append(CodeBlock(line: number, lines: [line]))
      }
    }
    return blocks
  }

  /// The lines outside of blocks of code, with their numbers from 1.
  var prose: [(number: Int, text: String)] {
    var prose: [(number: Int, text: String)] = []
    forEachLine { number, line, fence in
      if fence == nil { prose.append((number, line)) }
    }
    return prose
  }

  /// The anchors of the page's headings, made as GitHub makes them.
  var anchors: Set<String> {
    var anchors: Set<String> = []
    for (_, line) in prose where line.hasPrefix("#") {
      let title = line.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces).lowercased()
      let kept = title.filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) }
      let slug = kept.replacing(" ", with: "-")
      let copies = (1...).lazy.map { "\(slug)-\($0)" }
      anchors.insert(anchors.contains(slug) ? copies.first { !anchors.contains($0) } ?? slug : slug)
    }
    return anchors
  }

  /// Calls `body` with each line but the fences, and with the word behind the fence that it is in.
  private func forEachLine(_ body: (_ number: Int, _ line: String, _ fence: String?) -> Void) {
    var fence: String?
    for (index, line) in lines.enumerated() {
      let text = line.trimmingCharacters(in: .whitespaces)
      if text.hasPrefix("```") {
        fence = fence == nil ? String(text.dropFirst(3)) : nil
      } else {
        body(index + 1, line, fence)
      }
    }
  }
}

/// A block of code of a page.
struct CodeBlock: Sendable {
  /// The number of its first line in the page, from 1.
  let line: Int
  /// Its lines, without the fences.
  var lines: [String]

  /// The number of its last line in the page.
  var endLine: Int { line + lines.count - 1 }

  /// The first line of the block that `code` lacks at the closest match; `nil` if `code` has all lines.
  ///
  /// The lines must follow each other. The block may be indented differently, by one amount. Blank lines
  /// match.
  func firstMissingLine(in code: [String]) -> String? {
    let indentation = lines.filter { !Self.isBlank($0) }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
    let wanted = lines.map { Self.isBlank($0) ? "" : String($0.dropFirst(indentation)) }
    var best = 0
    for start in code.indices {
      let count = Self.countOfEqualLines(wanted, code[start...])
      if count == wanted.count { return nil }
      best = max(best, count)
    }
    return wanted[min(best, wanted.count - 1)]
  }

  /// How many lines of `wanted` stand at the beginning of `code`, all at the indentation of the first one.
  private static func countOfEqualLines(_ wanted: [String], _ code: ArraySlice<String>) -> Int {
    guard let first = wanted.first, let found = code.first, found.hasSuffix(first) else { return 0 }
    let indentation = found.dropLast(first.count)
    guard isBlank(indentation) else { return 0 }
    var count = 0
    for (line, other) in zip(wanted, code) {
      guard isBlank(line) ? isBlank(other) : other == indentation + line else { break }
      count += 1
    }
    return count
  }

  private static func isBlank(_ line: some StringProtocol) -> Bool { line.allSatisfy { $0 == " " } }
}
