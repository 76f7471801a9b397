//! Quantile plots: how many tasks a configuration solves within how much CPU time each. Time is linear below a second and logarithmic above it, as in [EXP12].

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 50.0;
const BOTTOM: f64 = 40.0;
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999"];

/// An SVG with one curve for each configuration: the times of its solved tasks, ascending.
pub(super) fn quantiles(title: &str, curves: &[(&str, Vec<f64>)]) -> String {
    let most = curves.iter().map(|(_, times)| times.len()).max().unwrap_or(0).max(1) as f64;
    let longest = curves.iter().flat_map(|(_, times)| times.last()).fold(1.0_f64, |a, b| a.max(*b));
    let scale = |seconds: f64| if seconds < 1.0 { seconds } else { 1.0 + seconds.log10() };
    let x = |count: f64| LEFT + count / most * (WIDTH - LEFT - 10.0);
    let y = |seconds: f64| HEIGHT - BOTTOM - scale(seconds) / scale(longest) * (HEIGHT - BOTTOM - 30.0);
    let legend = 18.0 * curves.len() as f64;
    let (all, floor, right) = (HEIGHT + legend + 10.0, HEIGHT - BOTTOM, WIDTH - 10.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {all}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <path d=\"M{LEFT} 20V{floor}H{right}\" fill=\"none\" stroke=\"black\"/>\n\
         <text x=\"{LEFT}\" y=\"14\">CPU seconds</text>\n\
         <text x=\"{right}\" y=\"{end}\" text-anchor=\"end\">tasks solved</text>\n",
        title = escaped(title),
        end = HEIGHT - 8.0,
    );
    for seconds in [0.0, 0.5, 1.0, 10.0, 100.0, 1000.0].into_iter().filter(|seconds| *seconds <= longest) {
        let at = y(seconds);
        let _ =
            writeln!(out, "<text x=\"{}\" y=\"{at:.1}\" text-anchor=\"end\">{seconds}</text>", LEFT - 6.0);
    }
    let step = (most / 10.0).ceil().max(1.0);
    let mut count = 0.0;
    while count <= most {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{count}</text>",
            x(count),
            HEIGHT - 24.0
        );
        count += step;
    }
    for (at, (name, times)) in curves.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let dash = if at < COLOURS.len() { "none" } else { "6 3" };
        let points: Vec<String> =
            times.iter().enumerate().map(|(i, t)| format!("{:.1},{:.1}", x(i as f64 + 1.0), y(*t))).collect();
        let line = HEIGHT + 18.0 * at as f64;
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>\n\
             <path d=\"M{LEFT} {line}h30\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>\n\
             <text x=\"{}\" y=\"{}\">{} ({})</text>",
            points.join(" "),
            LEFT + 38.0,
            line + 4.0,
            escaped(name),
            times.len()
        );
    }
    out.push_str("</svg>\n");
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_plot_has_a_curve_for_each_configuration() {
        let plot = super::quantiles("a < b", &[("one", vec![0.1, 2.0]), ("none", Vec::new())]);
        assert_eq!(plot.matches("<polyline").count(), 2);
        assert!(plot.contains("a &lt; b") && plot.contains("one (2)") && plot.contains("none (0)"));
    }
}
