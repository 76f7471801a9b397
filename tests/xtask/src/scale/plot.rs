//! The curve of elapsed time over workers, for each latency of the store; both axes logarithmic.

use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 64.0;
const BOTTOM: f64 = 44.0;
const COLOURS: [&str; 3] = ["#0072b2", "#d55e00", "#009e73"];

/// An SVG with a curve for each latency: workers and seconds.
pub(super) fn curves(title: &str, curves: &[(String, Vec<(usize, f64)>)]) -> String {
    let points = || curves.iter().flat_map(|(_, points)| points);
    let most = points().map(|(workers, _)| *workers as f64).fold(10.0, f64::max);
    let longest = points().map(|(_, seconds)| *seconds).fold(10.0, f64::max);
    let shortest = points().map(|(_, seconds)| *seconds).fold(longest / 10.0, f64::min).max(1e-3);
    let (low, high) = (shortest.log10().floor(), longest.log10().ceil());
    let x = |workers: f64| LEFT + workers.log10() / most.log10() * (WIDTH - LEFT - 16.0);
    let y =
        |seconds: f64| 24.0 + (high - seconds.max(1e-3).log10()) / (high - low) * (HEIGHT - BOTTOM - 24.0);
    let (floor, right) = (HEIGHT - BOTTOM, WIDTH - 16.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <path d=\"M{LEFT} 24V{floor}H{right}\" fill=\"none\" stroke=\"black\"/>\n\
         <text x=\"{LEFT}\" y=\"16\">seconds until the last answer</text>\n\
         <text x=\"{right}\" y=\"{}\" text-anchor=\"end\">workers</text>\n",
        HEIGHT - 6.0
    );
    let mut power = low;
    while power <= high {
        let seconds = 10f64.powf(power);
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{seconds}</text>",
            LEFT - 6.0,
            y(seconds) + 4.0
        );
        power += 1.0;
    }
    for (workers, _) in curves.first().into_iter().flat_map(|(_, points)| points) {
        let at = x(*workers as f64);
        let _ = writeln!(
            out,
            "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{workers}</text>",
            floor + 16.0
        );
    }
    for ((name, points), (at, colour)) in curves.iter().zip(COLOURS.iter().cycle().enumerate()) {
        let line: Vec<String> =
            points.iter().map(|(workers, s)| format!("{:.1},{:.1}", x(*workers as f64), y(*s))).collect();
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
             <text x=\"{}\" y=\"{}\" fill=\"{colour}\" text-anchor=\"end\">{name}</text>",
            line.join(" "),
            right - 8.0,
            44.0 + 16.0 * at as f64
        );
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_plot_has_a_curve_for_each_latency() {
        let curve = |seconds| vec![(1, 100.0), (10, seconds), (1000, seconds / 2.0)];
        let plot = super::curves("t", &[("1 ms".into(), curve(12.0)), ("50 ms".into(), curve(20.0))]);
        assert_eq!(plot.matches("<polyline").count(), 2);
        assert!(plot.contains(">1 ms<") && plot.contains(">1000<") && !plot.contains("NaN"));
    }
}
