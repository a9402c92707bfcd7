import TestKit
import Testing

@Suite struct ExpectationTests {
  @Test func `what holds records nothing, and its comment is not made`() {
    var comments = 0
    func comment() -> Comment {
      comments += 1
      return "made"
    }
    expect(comments == 0, comment())
    expectEqual([1, 2], [1, 2], comment())
    #expect(comments == 0)
  }

  @Test func `what does not hold records an issue at the caller's line, and the test goes on`() {
    var reached = 0
    let first = #_sourceLocation.line + 2
    withKnownIssue {
      expect(reached == 1)
      expect(reached == 2, "seed 7")
      expectEqual("a", "b")
      expectEqual([reached], [], "seed 8")
      reached += 1
    } matching: { issue in
      let texts = [
        "The condition is false", "seed 7: The condition is false", "\"a\" != \"b\"", "seed 8: [0] != []",
      ]
      guard let line = issue.sourceLocation?.line, texts.indices.contains(line - first) else { return false }
      return issue.comments.map(\.rawValue) == [texts[line - first]]
    }
    #expect(reached == 1)
  }
}
